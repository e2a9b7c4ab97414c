package secretref

import (
	"reflect"
	"strconv"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Field is a reference and the path of its field.
type Field struct {
	Path string
	Ref  Ref
}

// References returns every reference to a key that the operator finds in an object, rendered or not, in the order of
// the fields. It also covers agentry's own kinds.
func References(o *manifest.Object) []Field {
	w := walk{namespace: o.Namespace}
	switch v := o.Value().(type) {
	case *v1alpha1.GrafanaAgent:
		w.agent(&v.Spec)
	case *v1alpha1.MetricsInstance:
		w.remoteWrites("spec.remoteWrite", v.Spec.RemoteWrite)
		w.secret("spec.additionalScrapeConfigs", v.Spec.AdditionalScrapeConfigs)
	case *v1alpha1.LogsInstance:
		w.clients("spec.clients", v.Spec.Clients)
		w.secret("spec.additionalScrapeConfigs", v.Spec.AdditionalScrapeConfigs)
	case *v1alpha1.Integration:
		for i := range v.Spec.Secrets {
			w.secret("spec.secrets["+strconv.Itoa(i)+"]", &v.Spec.Secrets[i])
		}
		for i := range v.Spec.ConfigMaps {
			w.configMap("spec.configMaps["+strconv.Itoa(i)+"]", &v.Spec.ConfigMaps[i])
		}
	case *v1alpha1.MetricsIntegration:
		w.keys("spec.secrets", "Secret", v.Spec.Secrets)
		w.keys("spec.configMaps", "ConfigMap", v.Spec.ConfigMaps)
	case *v1alpha1.IntegrationMonitor:
		w.integrationMonitor(&v.Spec)
	case *monitoringv1.ServiceMonitor:
		for i := range v.Spec.Endpoints {
			ep := &v.Spec.Endpoints[i]
			path := "spec.endpoints[" + strconv.Itoa(i) + "]."
			w.http(path, &ep.HTTPConfigWithoutTLS)
			w.fullTLS(path+"tlsConfig", ep.TLSConfig)
		}
	case *monitoringv1.PodMonitor:
		for i := range v.Spec.PodMetricsEndpoints {
			ep := &v.Spec.PodMetricsEndpoints[i]
			path := "spec.podMetricsEndpoints[" + strconv.Itoa(i) + "]."
			w.http(path, &ep.HTTPConfigWithoutTLS)
			w.tls(path+"tlsConfig", ep.TLSConfig)
		}
	case *monitoringv1.Probe:
		w.http("spec.", &v.Spec.HTTPConfigWithoutTLS)
		if v.Spec.Authorization != nil {
			w.secret("spec.authorization.credentials", v.Spec.Authorization.Credentials)
		}
		w.tls("spec.tlsConfig", v.Spec.TLSConfig)
	case *promv1alpha1.ScrapeConfig:
		w.everything("spec", reflect.ValueOf(&v.Spec))
	}
	return w.found
}

// Mentioned returns the Secrets and ConfigMaps that an object refers to, by a key or as a whole. The result can have
// duplicates. It is known of an object that was read with it as [manifest.Options.Mentions].
func Mentioned(o *manifest.Object) []manifest.ID {
	if o.Mentions != nil {
		return o.Mentions
	}
	var out []manifest.ID
	for _, f := range References(o) {
		out = append(out, f.Ref.ID())
	}
	if v, ok := o.Value().(*v1alpha1.MetricsIntegration); ok {
		for _, whole := range v.Spec.Secrets {
			out = append(out, manifest.ID{Kind: "Secret", Namespace: o.Namespace, Name: whole.Name})
		}
		for _, whole := range v.Spec.ConfigMaps {
			out = append(out, manifest.ID{Kind: "ConfigMap", Namespace: o.Namespace, Name: whole.Name})
		}
	}
	return out
}

// walk collects references.
type walk struct {
	namespace string
	found     []Field
}

func (w *walk) add(path, kind, name, key string, optional *bool) {
	w.found = append(w.found, Field{Path: path,
		Ref: Ref{Kind: kind, Namespace: w.namespace, Name: name, Key: key, Optional: optional != nil && *optional}})
}

// secret adds a selector with a name and a key. Older tools write bearerTokenSecret: {key: ""} where they mean no
// reference.
func (w *walk) secret(path string, s *corev1.SecretKeySelector) {
	if s != nil && s.Name != "" && s.Key != "" {
		w.add(path, "Secret", s.Name, s.Key, s.Optional)
	}
}

func (w *walk) configMap(path string, s *corev1.ConfigMapKeySelector) {
	if s != nil && s.Name != "" && s.Key != "" {
		w.add(path, "ConfigMap", s.Name, s.Key, s.Optional)
	}
}

// keys adds the entries that name a key. [Scope.Mount] handles whole objects.
func (w *walk) keys(path, kind string, list []v1alpha1.KeyOrName) {
	for i, k := range list {
		if k.Key != "" {
			w.add(path+"["+strconv.Itoa(i)+"]", kind, k.Name, k.Key, k.Optional)
		}
	}
}

func (w *walk) either(path string, s monitoringv1.SecretOrConfigMap) {
	w.secret(path+".secret", s.Secret)
	w.configMap(path+".configMap", s.ConfigMap)
}

func (w *walk) basicAuth(path string, b *monitoringv1.BasicAuth) {
	if b != nil {
		w.secret(path+".username", &b.Username)
		w.secret(path+".password", &b.Password)
	}
}

func (w *walk) tls(path string, t *monitoringv1.SafeTLSConfig) {
	if t != nil {
		w.either(path+".ca", t.CA)
		w.either(path+".cert", t.Cert)
		w.secret(path+".keySecret", t.KeySecret)
	}
}

// fullTLS adds the references of settings that may also name files.
func (w *walk) fullTLS(path string, t *monitoringv1.TLSConfig) {
	if t != nil {
		w.tls(path, &t.SafeTLSConfig)
	}
}

func (w *walk) oauth2(path string, o *monitoringv1.OAuth2) {
	if o != nil {
		w.either(path+".clientId", o.ClientID)
		w.secret(path+".clientSecret", &o.ClientSecret)
	}
}

// http adds the fields that all scrape endpoints share and that the operator knew.
func (w *walk) http(path string, c *monitoringv1.HTTPConfigWithoutTLS) {
	w.basicAuth(path+"basicAuth", c.BasicAuth)
	if c.BearerTokenSecret != nil { //nolint:staticcheck // the operator renders it
		w.secret(path+"bearerTokenSecret", c.BearerTokenSecret) //nolint:staticcheck // the operator renders it
	}
	if c.Authorization != nil {
		w.secret(path+"authorization.credentials", c.Authorization.Credentials)
	}
	w.oauth2(path+"oauth2", c.OAuth2)
}

func (w *walk) integrationMonitor(s *v1alpha1.IntegrationMonitorSpec) {
	w.basicAuth("spec.basicAuth", s.BasicAuth)
	if s.Authorization != nil {
		w.secret("spec.authorization.credentials", s.Authorization.Credentials)
	}
	w.oauth2("spec.oauth2", s.OAuth2.Prometheus())
	w.fullTLS("spec.tlsConfig", s.TLSConfig.Prometheus())
}

func (w *walk) agent(s *v1alpha1.GrafanaAgentSpec) {
	if api := s.APIServerConfig; api != nil {
		w.basicAuth("spec.apiServer.basicAuth", api.BasicAuth)
		w.fullTLS("spec.apiServer.tlsConfig", api.TLSConfig)
		if api.Authorization != nil {
			w.secret("spec.apiServer.authorization.credentials", api.Authorization.Credentials)
		}
	}
	w.containers("spec.containers", s.Containers)
	w.containers("spec.initContainers", s.InitContainers)
	w.remoteWrites("spec.metrics.remoteWrite", s.Metrics.RemoteWrite)
	w.clients("spec.logs.clients", s.Logs.Clients)
}

// containers adds the references of environment variables, because the operator copies their content too
// (reference defect B7).
func (w *walk) containers(path string, list []corev1.Container) {
	for i := range list {
		for n := range list[i].Env {
			from := list[i].Env[n].ValueFrom
			if from == nil {
				continue
			}
			at := path + "[" + strconv.Itoa(i) + "].env[" + strconv.Itoa(n) + "].valueFrom"
			w.secret(at+".secretKeyRef", from.SecretKeyRef)
			w.configMap(at+".configMapKeyRef", from.ConfigMapKeyRef)
		}
	}
}

func (w *walk) remoteWrites(path string, list []v1alpha1.RemoteWriteSpec) {
	for i := range list {
		rw, at := &list[i], path+"["+strconv.Itoa(i)+"]"
		w.basicAuth(at+".basicAuth", rw.BasicAuth)
		w.oauth2(at+".oauth2", rw.OAuth2)
		if rw.SigV4 != nil {
			w.secret(at+".sigv4.accessKey", rw.SigV4.AccessKey)
			w.secret(at+".sigv4.secretKey", rw.SigV4.SecretKey)
		}
		w.fullTLS(at+".tlsConfig", rw.TLSConfig)
	}
}

func (w *walk) clients(path string, list []v1alpha1.LogsClientSpec) {
	for i := range list {
		c, at := &list[i], path+"["+strconv.Itoa(i)+"]"
		w.basicAuth(at+".basicAuth", c.BasicAuth)
		w.oauth2(at+".oauth2", c.OAuth2.Prometheus())
		w.fullTLS(at+".tlsConfig", c.TLSConfig.Prometheus())
	}
}
