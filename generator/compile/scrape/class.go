package scrape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/model"
)

const classesPath = "spec.metrics.scrapeClasses"

// class is a scrape class of the GrafanaAgent: settings that monitors share.
type class struct {
	path string
	spec monitoringv1.ScrapeClass
	// client has the TLS settings and the authorization, with the credentials of the GrafanaAgent's namespace.
	client                 model.HTTPClient
	relabel, metricRelabel []*model.Relabel
}

// readClasses reads the GrafanaAgent's scrape classes.
func (c *Current) readClasses(found *findings, secrets Secrets) {
	for i := range c.prometheus.Classes {
		k := &class{path: classesPath + "[" + strconv.Itoa(i) + "]", spec: c.prometheus.Classes[i]}
		client, problems := HTTPClient(secrets, k.path+".",
			Client{TLS: k.spec.TLSConfig, Authorization: k.spec.Authorization})
		k.client = client
		found.Add(problems...)
		k.relabel = c.classRules(found, secrets, k.path+".relabelings", k.spec.Relabelings, relabel.Targets())
		k.metricRelabel = c.classRules(found, secrets, k.path+".metricRelabelings", k.spec.MetricRelabelings,
			relabel.Samples())
		c.classes[k.spec.Name] = k
		if k.spec.Default == nil || !*k.spec.Default {
			continue
		}
		if c.standard.path != "" {
			found.Add(diag.InvalidSetting.At(k.path+".default", "%s is the default already: only one class can be",
				c.standard.spec.Name))
		}
		c.standard = k
	}
}

func (c *Current) classRules(found *findings, secrets Secrets, path string, rules []monitoringv1.RelabelConfig,
	labels relabel.Labels) (out []*model.Relabel) {
	for i := range rules {
		r, at := asCurrent(&rules[i]), path+"["+strconv.Itoa(i)+"]"
		r.Written = model.Written{Object: &c.settings.Agent, Field: path, Item: i + 1}
		keepEmptyRegex(r, secrets, at)
		found.Add(c.relabel.Check(r).Below(at)...)
		found.Add(labels.Lint(out, r).Below(at)...)
		out = append(out, r)
	}
	return out
}

// classNamed returns the class that a monitor names, or the default.
func (c *Current) classNamed(found *findings, name *string) *class {
	if name == nil || *name == "" {
		return c.standard
	}
	if k := c.classes[*name]; k != nil {
		return k
	}
	f := diag.Diagnostic{Severity: diag.Error, Code: diag.UnknownScrapeClass, Path: "spec.scrapeClass",
		Related: []diag.Object{c.settings.Agent}}
	f.Message = "GrafanaAgent " + c.settings.owner() + " has no scrape class " + strconv.Quote(*name)
	names := make([]string, 0, len(c.classes))
	for known := range c.classes {
		names = append(names, known)
	}
	slices.Sort(names)
	if f.Hint = diag.DidYouMean(*name, names); f.Hint == "" && len(names) > 0 {
		f.Hint = "its classes are " + strings.Join(names, ", ")
	}
	found.Add(f)
	return c.standard
}

// client sets the HTTP client of a job: the monitor's own settings, completed by the settings of its class. proxy can
// be nil.
func (j *currentJob) client(c *monitoringv1.HTTPConfigWithoutTLS, own *monitoringv1.SafeAuthorization,
	tokenFile string,
	tls *monitoringv1.TLSConfig, proxy *monitoringv1.ProxyConfig) {
	client := Client{
		BasicAuth: c.BasicAuth, OAuth2: c.OAuth2, BearerToken: c.BearerTokenSecret, BearerTokenFile: tokenFile,
		TLS:             j.class.openTLS(tls),
		FollowRedirects: c.FollowRedirects, EnableHTTP2: c.EnableHTTP2,
	}
	if proxy != nil {
		client.Proxy = *proxy
	}
	shared := j.class.client.Authorization
	if own != nil && (shared == nil || own.Credentials != nil) {
		client.Authorization = &monitoringv1.Authorization{SafeAuthorization: *own}
	}
	var problems diag.List
	j.config.HTTPClient, problems = HTTPClient(j.secrets, j.path, client)
	j.found.Add(problems...)
	if tls == nil {
		j.config.TLS = j.class.client.TLS
	}
	if shared == nil || client.Authorization != nil {
		return
	}
	if c.BasicAuth != nil || c.OAuth2 != nil || client.BearerToken != nil || tokenFile != "" {
		j.found.Add(diag.AuthConflict.At(strings.TrimSuffix(j.path, "."), "%s",
			"has credentials of its own, and scrape class "+strconv.Quote(j.class.spec.Name)+
				" has an authorization: the agent refuses both together").With(j.settings.Agent))
	}
	merged := *shared
	if own != nil {
		a := access{path: j.path, found: &j.found}
		merged.Type = model.Present(cmp.Or(a.authorizationType(own.Type), "Bearer"))
	}
	j.config.Authorization = &merged
}

// openTLS returns a monitor's TLS settings, with the class's files for the parts that it leaves open.
func (k *class) openTLS(own *monitoringv1.TLSConfig) *monitoringv1.TLSConfig {
	shared := k.spec.TLSConfig
	if own == nil || shared == nil {
		return own
	}
	out := *own
	if out.CAFile == "" && !Given(out.CA) {
		out.CAFile = shared.CAFile
	}
	if out.CertFile == "" && !Given(out.Cert) {
		out.CertFile = shared.CertFile
	}
	if out.KeyFile == "" && out.KeySecret == nil {
		out.KeyFile = shared.KeyFile
	}
	return &out
}

// withoutFiles returns TLS settings that name no files. Empty ones count as absent.
func withoutFiles(c *monitoringv1.SafeTLSConfig) *monitoringv1.TLSConfig {
	if c == nil || *c == (monitoringv1.SafeTLSConfig{}) {
		return nil
	}
	return &monitoringv1.TLSConfig{SafeTLSConfig: *c}
}

// needCredentials refuses an authorization without credentials, as the Prometheus Operator does for endpoints.
func (j *currentJob) needCredentials(a *monitoringv1.SafeAuthorization) {
	if a != nil && a.Credentials == nil {
		access{path: j.path, found: &j.found}.incomplete("authorization.credentials")
	}
}

// proberProxy sets the proxy of a Probe, which is a setting of its prober.
func (j *currentJob) proberProxy(c *monitoringv1.ProxyConfig) {
	j.config.Proxy = access{secrets: j.secrets, path: "spec.prober.", found: &j.found, current: true}.proxy(c)
}
