// Package alive runs rendered configurations: real agents run integrations, the sd-aggregator
// finds these, other agents scrape them, and a real Prometheus stores what they send.
package alive

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	integrations = "Deployment/monitoring/agent-integrations-deploy"
	metrics      = "StatefulSet/monitoring/agent"
)

// TestMetricsIntegrationsAreCollected follows MetricsIntegrations from their manifests to
// stored series, and one of them out again. The same pod stands for a second GrafanaAgent
// too, which only the monitor with the scope all may collect.
func TestMetricsIntegrationsAreCollected(t *testing.T) {
	t.Parallel()
	const sd = "10.0.1.1"
	prometheus := startPrometheus(t, "{}")
	m := newManifests(t, "collected", prometheus.address, "--set", "spec.sdAggregator.url=http://"+sd+":8080")

	configs, report := m.render(t)
	if strings.Count(report, "[not-collected]") != 1 ||
		!strings.Contains(report, "[not-collected]: MetricsIntegration/staging/orders: ") {
		t.Errorf("what nobody collects is reported like this:\n%s", report)
	}
	runner := startPod(t, "the agent with integrations", configs[integrations], "10.1.1.1")
	runs(t, runner, "memcached", "redis", "redis", "redis", "agent", "memcached")
	startAggregator(t, sd, "monitoring/agent="+runner.address, "edge/agent="+runner.address)
	scraper := startAgent(t, "the agent that scrapes", configs[metrics])

	want := collected(runner.address)
	eventually(t, "scraping", func() error { return scrapes(scraper.address, want) })
	eventually(t, "storing", func() error { return stores(prometheus.address, want) })
	eventually(t, "storing nothing else", func() error { return storesOnly(prometheus.address, want) })

	m.remove(t, "sessions.yaml")
	configs, _ = m.render(t)
	runner.reload(t, configs[integrations])
	scraper.reload(t, configs[metrics])
	runs(t, runner, "memcached", "redis", "redis", "redis", "agent")

	// The one that is left of its kind moves, which does not show in its series.
	want = slices.DeleteFunc(want, func(s target) bool { return s.Labels["instance"] == "shop/sessions" })
	for i := range want {
		want[i].Endpoint = strings.Replace(want[i].Endpoint, "/memcached/shop/pages/", "/memcached/", 1)
	}
	eventually(t, "scraping what is left", func() error { return scrapes(scraper.address, want) })
	eventually(t, "storing what is left", func() error { return stores(prometheus.address, want) })
}

// collected are the targets with the labels that their series have in the end.
func collected(runner string) []target {
	one := func(path, job, instance, monitor string, more map[string]string) target {
		labels := map[string]string{
			"__replica__":      "replica-0",
			"agent_hostname":   "spec-nodeName:" + port(runner),
			"cluster":          "monitoring/agent",
			"instance":         instance,
			"job":              "integrations/" + job,
			"metrics_instance": "monitoring/primary",
			"monitor":          monitor,
		}
		maps.Copy(labels, more)
		return target{Endpoint: "http://" + runner + "/integrations/" + path + "/metrics", State: "up", Labels: labels}
	}
	return []target{
		one("redis/shop/orders", "redis_exporter", "shop/orders", "monitoring/databases",
			map[string]string{"kind": "redis", "team": "shop", "version": "1.50"}),
		one("memcached/shop/pages", "memcached_exporter", "shop/pages", "shop/caches", nil),
		one("memcached/shop/sessions", "memcached_exporter", "shop/sessions", "shop/caches", nil),
		one("agent", "agent", "platform/itself", "monitoring/others", nil),
		one("agent", "agent", "platform/itself", "monitoring/others", map[string]string{"cluster": "edge/agent"}),
	}
}

// runs holds an agent to the integrations that it should run, which are there as soon as
// it is ready or reloaded.
func runs(t *testing.T, a *agent, want ...string) {
	t.Helper()
	groups, err := discovery(a.address)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		got = append(got, g.Labels["__meta_agent_integration_name"])
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("integrations -want +got:\n%s", d)
	}
}

// scrapes tells how the targets of an agent differ from those that it should have. What
// the agent adds to all that it sends is not on its targets yet.
func scrapes(agent string, want []target) error {
	got, err := targets(agent, "targets")
	if err != nil {
		return err
	}
	for _, s := range got {
		if s.Labels["cluster"] == "" {
			s.Labels["cluster"] = "monitoring/agent"
		}
		s.Labels["__replica__"] = "replica-0"
	}
	return differ(want, got)
}

// stores tells how the values of up differ from 1 for each target that was scraped lately.
// That a series ended is not always stored: the agent says so too late of one that goes on
// at a new place, and Prometheus refuses all that comes along.
func stores(prometheus string, want []target) error {
	current, err := samples(prometheus, "last_over_time(up[15s])")
	if err != nil {
		return err
	}
	got := []target{}
	for _, s := range current {
		delete(s.Metric, "__name__")
		i := slices.IndexFunc(want, func(w target) bool { return maps.Equal(w.Labels, s.Metric) })
		if i < 0 || s.Value[1] != "1" {
			return fmt.Errorf("unexpected: up%v is %v", s.Metric, s.Value[1])
		}
		got = append(got, want[i])
	}
	return differ(want, got)
}

func differ(want, got []target) error {
	order := func(a, b target) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	if d := cmp.Diff(slices.SortedFunc(slices.Values(want), order), slices.SortedFunc(slices.Values(got), order)); d !=
		"" {
		return errors.New("-want +got:\n" + d)
	}
	return nil
}
