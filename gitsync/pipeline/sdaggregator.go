package pipeline

import (
	"strings"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
)

// SDAggregator is how agents reach the sd-aggregator, which lists the targets that IntegrationMonitors select from.
type SDAggregator struct {
	// URL is the address of the sd-aggregator: scheme, host and port. Default:
	// http://sd-aggregator.monitoring.svc:8080.
	URL string `json:"url,omitempty"`
	// RefreshInterval is how often each agent requests the targets, at least 5s; it is also the timeout of a
	// request. Default: 30s.
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`
	// TLSConfig is as in an IntegrationMonitor. It refers to Secrets and ConfigMaps in the namespace of each
	// GrafanaAgent that selects one. Default: none.
	TLSConfig *v1alpha1.TLSConfig `json:"tlsConfig,omitempty"`
	// Authorization is as in an IntegrationMonitor, with credentials in a Secret of that namespace. Agents read them
	// from a file, so a new value needs no reload. Default: none.
	Authorization *monitoringv1.SafeAuthorization `json:"authorization,omitempty"`
}

func (a *SDAggregator) setDefaults() {
	setDefault(&a.URL, scrape.DefaultSDURL)
	if a.RefreshInterval == nil {
		a.RefreshInterval = &metav1.Duration{Duration: scrape.DefaultSDRefresh}
	}
}

func validateSDAggregator(path string, a *SDAggregator) findings {
	var f findings
	err := scrape.CheckSDURL(a.URL)
	f.check(err == nil, path+".url", "write it like "+scrape.DefaultSDURL, "%v", err)
	interval := a.RefreshInterval.Duration
	f.check(interval >= scrape.MinSDRefresh, path+".refreshInterval", "", "must be at least %s", scrape.MinSDRefresh)
	f.check(interval%time.Millisecond == 0, path+".refreshInterval", "", "must be whole milliseconds")
	if t := a.TLSConfig; t != nil {
		f.check(strings.HasPrefix(a.URL, "https://"), path+".tlsConfig", "", "is for https URLs only")
		f.add(validateTLS(path+".tlsConfig", t))
	}
	if auth := a.Authorization; auth != nil {
		f.check(!strings.EqualFold(strings.TrimSpace(auth.Type), "basic"), path+".authorization.type", "",
			"must not be Basic, which the agent refuses here")
		f.check(auth.Credentials != nil, path+".authorization.credentials", "name a Secret and its key", "is required")
		f.add(validateSecretKey(path+".authorization.credentials", auth.Credentials))
	}
	return f
}

func validateTLS(path string, t *v1alpha1.TLSConfig) findings {
	var f findings
	cert := t.CertFile != "" || scrape.Given(t.Cert)
	key := t.KeyFile != "" || t.KeySecret != nil
	f.check(cert == key, path, "", "a client certificate needs its key, and a key its certificate")
	for _, part := range []struct {
		name string
		ref  monitoringv1.SecretOrConfigMap
	}{{".ca", t.CA}, {".cert", t.Cert}} {
		f.check(part.ref.Secret == nil || part.ref.ConfigMap == nil, path+part.name, "",
			"only one of secret and configMap may be set")
		f.add(validateSecretKey(path+part.name+".secret", part.ref.Secret))
		if c := part.ref.ConfigMap; c != nil {
			f.check(c.Name != "", path+part.name+".configMap.name", "", "is required")
			f.check(c.Key != "", path+part.name+".configMap.key", "", "is required")
		}
	}
	f.add(validateSecretKey(path+".keySecret", t.KeySecret))
	return f
}

// validateSecretKey checks a reference if there is one. Its Secret is not in the pipeline, so it is not checked.
func validateSecretKey(path string, s *corev1.SecretKeySelector) findings {
	var f findings
	if s != nil {
		f.check(s.Name != "", path+".name", "", "is required")
		f.check(s.Key != "", path+".key", "", "is required")
	}
	return f
}
