package scrape

import (
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
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
	return strings.ToLower(string(*s)) // today's CRDs take HTTPS as well
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
		j.config.BasicAuth = &model.BasicAuth{
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
		j.config.BearerToken = model.Secret{File: tokenFile}
	}
	if methods > 1 {
		j.report(diag.Error, diag.AuthConflict, j.path[:max(len(j.path)-1, 0)],
			"at most one of basicAuth, bearerTokenSecret and bearerTokenFile may be set: the agent refuses the whole configuration")
	}
}

// basicAuthHalf resolves username or password; one without the other is refused, as it
// makes the operator fail.
func (j *job) basicAuthHalf(field string, ref corev1.SecretKeySelector) model.Secret {
	if ref.Name == "" && ref.Key == "" {
		j.report(diag.Error, diag.IncompleteBasicAuth, j.path+field, "is missing: basicAuth needs a username and a password")
		return model.Secret{}
	}
	return j.secrets.Value(j.path+field, &ref)
}

// fullTLS is for types that may name files of the agent; these win over references.
func (j *job) fullTLS(c *monitoringv1.TLSConfig) {
	if c != nil {
		j.tls(&c.SafeTLSConfig, c.CAFile, c.CertFile, c.KeyFile)
	}
}

func (j *job) safeTLS(c *monitoringv1.SafeTLSConfig) {
	if c != nil {
		j.tls(c, "", "", "")
	}
}

func (j *job) tls(c *monitoringv1.SafeTLSConfig, ca, cert, key string) {
	keyRef := monitoringv1.SecretOrConfigMap{Secret: c.KeySecret}
	t := &model.TLS{
		CAFile:   j.file("tlsConfig.ca", ca, c.CA),
		CertFile: j.file("tlsConfig.cert", cert, c.Cert),
		KeyFile:  j.file("tlsConfig.keySecret", key, keyRef),
	}
	if half, missing := HalfTLS(t, cert != "" || Given(c.Cert), key != "" || Given(keyRef), c.Cert, keyRef); half {
		j.fail(diag.IncompleteTLS, j.path+"tlsConfig", "a client certificate needs its key, and a key its certificate", missing...)
	}
	if c.ServerName != nil {
		t.ServerName = *c.ServerName
	}
	if c.InsecureSkipVerify != nil {
		t.InsecureSkipVerify = *c.InsecureSkipVerify
	}
	j.config.TLS = t
}

// file is the name of a file of the agent, or else the file of a reference.
func (j *job) file(field, name string, ref monitoringv1.SecretOrConfigMap) string {
	if name != "" {
		return name
	}
	return j.secrets.File(j.path+field, ref)
}

// Given reports whether there is a reference at all.
func Given(ref monitoringv1.SecretOrConfigMap) bool { return ref.Secret != nil || ref.ConfigMap != nil }

func optionalRef(ref monitoringv1.SecretOrConfigMap) bool {
	switch {
	case ref.Secret != nil:
		return ref.Secret.Optional != nil && *ref.Secret.Optional
	case ref.ConfigMap != nil:
		return ref.ConfigMap.Optional != nil && *ref.ConfigMap.Optional
	}
	return false
}

// Referred is what a reference is to, for findings about who refers to it; nothing for no
// reference.
func Referred(ref monitoringv1.SecretOrConfigMap) []diag.Object {
	switch {
	case ref.Secret != nil:
		return []diag.Object{{APIVersion: "v1", Kind: "Secret", Name: ref.Secret.Name}}
	case ref.ConfigMap != nil:
		return []diag.Object{{APIVersion: "v1", Kind: "ConfigMap", Name: ref.ConfigMap.Name}}
	}
	return nil
}

// HalfTLS reports whether a TLS block has a client certificate and no key, or the reverse:
// because only one is written (hasCert, hasKey), or because the other is optional and not
// there; then it says what is missing. One that does not resolve although it must has been
// reported as that.
func HalfTLS(t *model.TLS, hasCert, hasKey bool, cert, key monitoringv1.SecretOrConfigMap) (half bool, missing []diag.Object) {
	switch {
	case hasCert != hasKey:
		return true, nil
	case t.CertFile == "" && t.KeyFile != "" && optionalRef(cert):
		return true, Referred(cert)
	case t.KeyFile == "" && t.CertFile != "" && optionalRef(key):
		return true, Referred(key)
	}
	return false, nil
}
