package scrape

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/diag"
)

// endpointHTTP is what endpoints of ServiceMonitors and PodMonitors have in common.
type endpointHTTP struct {
	honorLabels     bool
	honorTimestamps *bool
	path            string
	scheme          *monitoringv1.Scheme
	params          map[string][]string
	proxy           *string
	enableHTTP2     *bool
}

func (j *job) http(e endpointHTTP) {
	honorLabels := e.honorLabels && !j.settings.OverrideHonorLabels
	j.config.HonorLabels = &honorLabels
	j.config.HonorTimestamps = e.honorTimestamps
	if j.settings.OverrideHonorTimestamps {
		no := false
		j.config.HonorTimestamps = &no
	}
	j.config.MetricsPath = e.path
	j.config.Scheme = scheme(e.scheme)
	j.config.Params = e.params
	if e.proxy != nil {
		j.config.ProxyURL = *e.proxy
		j.checkURL("proxyUrl", *e.proxy)
	}
	if e.enableHTTP2 != nil && !*e.enableHTTP2 {
		j.config.EnableHTTP2 = e.enableHTTP2
	}
}

func scheme(s *monitoringv1.Scheme) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// bearer returns the token reference of an endpoint, nil when there is none. The field
// is deprecated, and used by most monitors that there are.
func bearer(c *monitoringv1.HTTPConfigWithoutTLS) *corev1.SecretKeySelector {
	if c.BearerTokenSecret == nil || c.BearerTokenSecret.Name == "" { //nolint:staticcheck // the operator renders it
		return nil
	}
	return c.BearerTokenSecret //nolint:staticcheck // the operator renders it
}

// auth sets the credentials of a job. The agent refuses a file in which a job has more
// than one kind.
func (j *job) auth(basic *monitoringv1.BasicAuth, token *corev1.SecretKeySelector, tokenFile string) {
	methods := 0
	if basic != nil {
		methods++
		j.config.BasicAuth = &agentyaml.BasicAuth{
			Username: j.basicAuthHalf("basicAuth.username", basic.Username),
			Password: j.basicAuthHalf("basicAuth.password", basic.Password),
		}
	}
	if token != nil {
		methods++
		j.config.BearerToken = j.secrets.Value(j.path+"bearerTokenSecret", token)
	}
	if tokenFile != "" {
		methods++
		j.config.BearerToken = agentyaml.Secret{File: tokenFile}
	}
	if methods > 1 {
		j.report(diag.Error, diag.AuthConflict, j.path[:max(len(j.path)-1, 0)],
			"at most one of basicAuth, bearerTokenSecret and bearerTokenFile may be set: the agent refuses the whole configuration")
	}
}

// basicAuthHalf resolves username or password; one without the other is refused, as it
// makes the operator fail.
func (j *job) basicAuthHalf(field string, ref corev1.SecretKeySelector) agentyaml.Secret {
	if ref.Name == "" && ref.Key == "" {
		j.report(diag.Error, diag.IncompleteBasicAuth, j.path+field, "is missing: basicAuth needs a username and a password")
		return agentyaml.Secret{}
	}
	return j.secrets.Value(j.path+field, &ref)
}

// fullTLS is for types that may name files of the agent; these win over references.
func (j *job) fullTLS(c *monitoringv1.TLSConfig) {
	if c == nil {
		return
	}
	t := j.tls(&c.SafeTLSConfig)
	t.CAFile = first(c.CAFile, t.CAFile)
	t.CertFile = first(c.CertFile, t.CertFile)
	t.KeyFile = first(c.KeyFile, t.KeyFile)
	j.setTLS(t)
}

func (j *job) safeTLS(c *monitoringv1.SafeTLSConfig) {
	if c != nil {
		j.setTLS(j.tls(c))
	}
}

func (j *job) tls(c *monitoringv1.SafeTLSConfig) *agentyaml.TLS {
	t := &agentyaml.TLS{
		CAFile:   j.secrets.File(j.path+"tlsConfig.ca", c.CA),
		CertFile: j.secrets.File(j.path+"tlsConfig.cert", c.Cert),
		KeyFile:  j.secrets.File(j.path+"tlsConfig.keySecret", monitoringv1.SecretOrConfigMap{Secret: c.KeySecret}),
	}
	if c.ServerName != nil {
		t.ServerName = *c.ServerName
	}
	if c.InsecureSkipVerify != nil {
		t.InsecureSkipVerify = *c.InsecureSkipVerify
	}
	return t
}

func (j *job) setTLS(t *agentyaml.TLS) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		j.report(diag.Error, diag.IncompleteTLS, j.path+"tlsConfig", "a client certificate needs its key, and a key its certificate")
	}
	j.config.TLS = t
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
