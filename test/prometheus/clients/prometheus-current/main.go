// Command prometheus-current reads http_sd answers as today's Prometheus does.
package main

import (
	"context"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/http"

	"github.com/agentry-dev/agentry/test/prometheus/clients"
)

func main() { clients.Main(ask) }

// ask is the first refresh of a new discovery: nothing is left of other answers.
func ask(ctx context.Context, url string) ([]clients.Group, error) {
	settings := http.DefaultSDConfig
	settings.URL = url
	settings.HTTPClientConfig.FollowRedirects = false // As agentry renders it.
	registry := client.NewRegistry()
	d, err := http.NewDiscovery(&settings, discovery.DiscovererOptions{
		Metrics:           settings.NewDiscovererMetrics(registry, discovery.NewRefreshMetrics(registry)),
		HTTPClientOptions: []config.HTTPClientOption{config.WithKeepAlivesDisabled()},
	})
	if err != nil {
		return nil, err
	}
	found, err := d.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	groups := make([]clients.Group, len(found))
	for i, f := range found {
		groups[i].Labels = clients.Plain(f.Labels)
		for _, target := range f.Targets {
			groups[i].Targets = append(groups[i].Targets, clients.Plain(target))
		}
	}
	return groups, nil
}
