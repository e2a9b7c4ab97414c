package compile

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// logsClient builds one client.
func (w writer) logsClient(s *v1alpha1.LogsClientSpec) model.LogsClient {
	out := model.LogsClient{
		Origin: w.origin(),
		URL:    w.text(".url", s.URL), TenantID: w.text(".tenantId", s.TenantID),
		BatchWait: w.goDuration(".batchWait", s.BatchWait),
		BatchSize: scrape.Float64Int(int64(s.BatchSize)),
		Timeout:   w.goDuration(".timeout", s.Timeout), ProxyURL: w.text(".proxyUrl", s.ProxyURL),
		ExternalLabels: w.clientLabels(s),
	}
	w.checkTarget(".url", s.URL)
	w.checkPushPath(s.URL, "add the path that the server takes lines at: Loki has /loki/api/v1/push")
	w.checkProxy(s.ProxyURL)
	w.clientAuth(&out, s)
	if s.TLSConfig != nil {
		out.TLS = w.tls(s.TLSConfig.Prometheus())
	}
	if c := s.BackoffConfig; c != nil {
		out.Backoff = &model.Backoff{MinPeriod: w.goDuration(".backoffConfig.minPeriod", c.MinPeriod),
			MaxPeriod: w.goDuration(".backoffConfig.maxPeriod", c.MaxPeriod), MaxRetries: int64(c.MaxRetries)}
	}
	return out
}

// clientLabels returns the labels that a client adds to all lines: the cluster label and the user's own, which
// may replace it.
func (w writer) clientLabels(s *v1alpha1.LogsClientSpec) model.Expandable {
	out := model.Expandable{}
	if name := orDefault(manifest.As[v1alpha1.GrafanaAgent](w.env.agent).Spec.Logs.LogsExternalLabelName,
		"cluster"); name != "" {
		out[name] = w.cluster
		w.report.logLabel(w.env.agent, "spec.logs.logsExternalLabelName", name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ExternalLabels)) {
		out[name] = s.ExternalLabels[name]
		w.report.logLabel(w.in.Object(), w.path+".externalLabels["+name+"]", name)
		w.text(".externalLabels["+name+"]", s.ExternalLabels[name])
	}
	return out
}

// clientAuth sets the credentials of a client. The agent accepts only one kind.
func (w writer) clientAuth(out *model.LogsClient, s *v1alpha1.LogsClientSpec) {
	var methods []string
	if s.BasicAuth != nil {
		methods = append(methods, "basicAuth")
		out.BasicAuth = &model.BasicAuth{
			Username: w.basicAuthHalf(".basicAuth.username", s.BasicAuth.Username),
			Password: w.basicAuthHalf(".basicAuth.password", s.BasicAuth.Password),
		}
	}
	if s.OAuth2 != nil {
		methods = append(methods, "oauth2")
		out.OAuth2 = w.oauth2(s.OAuth2.Prometheus())
	}
	if a := w.bearer(s.BearerToken, s.BearerTokenFile); a != nil {
		methods = append(methods, "bearerToken or bearerTokenFile")
		out.BearerToken = a.Credentials
	}
	if len(methods) > 1 {
		w.found(diag.AuthConflict.At("", "at most one kind of credentials may be set, not %s",
			strings.Join(methods, " and ")))
	}
}

// basicAuthHalf resolves username or password, both of which a client takes as a value or as a file.
func (w writer) basicAuthHalf(field string, ref corev1.SecretKeySelector) model.Secret {
	if ref.Name == "" {
		w.found(diag.IncompleteBasicAuth.At(field, "is missing: basicAuth needs a username and a password"))
		return model.Secret{}
	}
	return w.in.Value(w.path+field, &ref)
}
