package scrape

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Defaults of an SDAggregator.
const (
	// DefaultSDURL is the URL of a sd-aggregator that is installed as sd-aggregator in the namespace monitoring.
	DefaultSDURL = "http://sd-aggregator.monitoring.svc:8080"
	// DefaultSDRefresh is how often agents query it.
	DefaultSDRefresh = 30 * time.Second
	// MinSDRefresh is the shortest interval. The interval is also the timeout of a request.
	MinSDRefresh = 5 * time.Second
)

// The path and the parameter of the sd-aggregator's list of targets.
const (
	sdPath      = "/operator/api/v1/metrics/integrations/sd"
	sdParameter = "grafanaagent"
)

// SDAggregator is how agents reach the sd-aggregator, which lists the targets of all MetricsIntegrations. The
// zero value means the defaults.
type SDAggregator struct {
	// URL is its address without the path of the list. Default DefaultSDURL.
	URL string
	// RefreshInterval is the time between two requests of an agent. Default DefaultSDRefresh.
	RefreshInterval time.Duration
	// TLS and Authorization refer to Secrets and ConfigMaps in the namespace of each
	// GrafanaAgent. Default: none.
	TLS           *v1alpha1.TLSConfig
	Authorization *monitoringv1.SafeAuthorization
}

// settingsPath is the path of these settings, for findings.
const settingsPath = "the pipeline's spec.sdAggregator."

// HTTPSD returns the settings that all http_sd_configs for the IntegrationMonitors of a GrafanaAgent share. References
// are resolved by the agent's secrets, and only if there is an IntegrationMonitor.
func (a SDAggregator) HTTPSD(secrets Secrets) (model.HTTPSD, diag.List) {
	if a.URL == "" {
		a.URL = DefaultSDURL
	}
	if a.RefreshInterval == 0 {
		a.RefreshInterval = DefaultSDRefresh
	}
	var found findings
	to := access{secrets: secrets, path: settingsPath, found: &found}
	out := model.HTTPSD{URL: strings.TrimRight(a.URL, "/") + sdPath,
		RefreshInterval: prommodel.Duration(a.RefreshInterval).String()}
	out.FollowRedirects = new(false) // the agent would send its credentials along
	out.TLS, out.Authorization = to.ownTLS(a.TLS), to.authorization(a.Authorization)
	return out, found.List
}

// CheckSDURL returns an error if the URL cannot belong to an sd-aggregator.
func CheckSDURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("is not a URL") // url.Parse repeats the URL, which can contain a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must begin with http:// or https:// and name a host")
	case u.User != nil:
		return errors.New("must not hold a user name or a password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must not have a query or a fragment")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), sdPath):
		return fmt.Errorf("must not have the path %s, which is added", sdPath)
	}
	return nil
}
