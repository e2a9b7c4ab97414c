package gitsync

import (
	"strings"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/build/scrape"
)

// SDAggregator is how agents reach the sd-aggregator, which lists the targets that
// IntegrationMonitors choose from.
type SDAggregator struct {
	// URL is its address. Default: http://sd-aggregator.monitoring.svc:8080.
	URL string `json:"url,omitempty"`
	// RefreshInterval is how often each agent asks it for targets, at least 5s; a request may take as long. Default: 30s.
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`
	// TLSConfig and Authorization are as in IntegrationMonitors, with Secrets and ConfigMaps
	// of each GrafanaAgent's namespace. Default: none.
	TLSConfig     *v1alpha1.TLSConfig             `json:"tlsConfig,omitempty"`
	Authorization *monitoringv1.SafeAuthorization `json:"authorization,omitempty"`
}

func (a *SDAggregator) setDefaults() {
	setDefault(&a.URL, scrape.DefaultSDURL)
	if a.RefreshInterval == nil {
		a.RefreshInterval = &metav1.Duration{Duration: scrape.DefaultSDRefresh}
	}
}

// settings are what the renderer needs of it.
func (a *SDAggregator) settings() scrape.SDAggregator {
	out := scrape.SDAggregator{URL: a.URL, TLS: a.TLSConfig, Authorization: a.Authorization}
	if a.RefreshInterval != nil {
		out.RefreshInterval = a.RefreshInterval.Duration
	}
	return out
}

func (v *validator) sdAggregator(path string, a *SDAggregator) {
	err := scrape.CheckSDURL(a.URL)
	v.check(err == nil, path+".url", "write it like "+scrape.DefaultSDURL, "%v", err)
	interval := a.RefreshInterval.Duration
	v.check(interval >= scrape.MinSDRefresh, path+".refreshInterval", "", "must be at least %s", scrape.MinSDRefresh)
	v.check(interval%time.Millisecond == 0, path+".refreshInterval", "", "must be whole milliseconds")
	if t := a.TLSConfig; t != nil {
		v.check(strings.HasPrefix(a.URL, "https://"), path+".tlsConfig", "", "is for https URLs only")
		v.tls(path+".tlsConfig", t)
	}
	if auth := a.Authorization; auth != nil {
		v.check(!strings.EqualFold(strings.TrimSpace(auth.Type), "basic"), path+".authorization.type", "", "must not be Basic, which the agent refuses here")
		v.check(auth.Credentials != nil, path+".authorization.credentials", "name a Secret and its key", "is required")
		v.secretKey(path+".authorization.credentials", auth.Credentials)
	}
}

func (v *validator) tls(path string, t *v1alpha1.TLSConfig) {
	cert := t.CertFile != "" || scrape.Given(t.Cert)
	key := t.KeyFile != "" || t.KeySecret != nil
	v.check(cert == key, path, "", "a client certificate needs its key, and a key its certificate")
	for _, f := range []struct {
		name string
		ref  monitoringv1.SecretOrConfigMap
	}{{".ca", t.CA}, {".cert", t.Cert}} {
		v.check(f.ref.Secret == nil || f.ref.ConfigMap == nil, path+f.name, "", "only one of secret and configMap may be set")
		v.secretKey(path+f.name+".secret", f.ref.Secret)
		if c := f.ref.ConfigMap; c != nil {
			v.check(c.Name != "" && c.Key != "", path+f.name+".configMap", "", "needs a name and a key")
		}
	}
	v.secretKey(path+".keySecret", t.KeySecret)
}

// secretKey checks a reference, if there is one. What it refers to is in no pipeline.
func (v *validator) secretKey(path string, s *corev1.SecretKeySelector) {
	if s != nil {
		v.check(s.Name != "" && s.Key != "", path, "", "needs a name and a key")
	}
}
