package compile

import (
	"path"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// file is a field that names a file of the agent's pod.
type file struct{ path, name string }

// filesOf returns the fields of an object that name files of the agent's pod, as credentials, as
// certificates to trust or as lists of targets.
func filesOf(o *manifest.Object) (out []file) {
	add := func(name string, path ...string) {
		if name != "" {
			out = append(out, file{strings.Join(path, ""), name})
		}
	}
	client := func(token string, t *monitoringv1.TLSConfig, list, index, end string) {
		add(token, list, index, end, ".bearerTokenFile")
		if t != nil {
			add(t.CAFile, list, index, end, ".tlsConfig.caFile")
			add(t.CertFile, list, index, end, ".tlsConfig.certFile")
			add(t.KeyFile, list, index, end, ".tlsConfig.keyFile")
		}
	}
	switch v := o.Value().(type) {
	case *monitoringv1.ServiceMonitor:
		for i := range v.Spec.Endpoints {
			ep := &v.Spec.Endpoints[i]
			client(ep.BearerTokenFile, ep.TLSConfig, "spec.endpoints[", strconv.Itoa(i), "]")
		}
	case *promv1alpha1.ScrapeConfig:
		for i := range v.Spec.FileSDConfigs {
			for n, name := range v.Spec.FileSDConfigs[i].Files {
				add(string(name), "spec.fileSDConfigs[", strconv.Itoa(i), "].files[", strconv.Itoa(n), "]")
			}
		}
	case *v1alpha1.IntegrationMonitor:
		client("", v.Spec.TLSConfig.Prometheus(), "spec", "", "")
	case *v1alpha1.MetricsInstance:
		for i := range v.Spec.RemoteWrite {
			w := &v.Spec.RemoteWrite[i]
			client(w.BearerTokenFile, w.TLSConfig, "spec.remoteWrite[", strconv.Itoa(i), "]")
			if w.Authorization != nil {
				add(w.Authorization.CredentialsFile, "spec.remoteWrite[", strconv.Itoa(i),
					"].authorization.credentialsFile")
			}
		}
	case *v1alpha1.LogsInstance:
		for i := range v.Spec.Clients {
			c := &v.Spec.Clients[i]
			client(c.BearerTokenFile, c.TLSConfig.Prometheus(), "spec.clients[", strconv.Itoa(i), "]")
		}
	}
	return out
}

// holdsCredentials reports whether a file can be in a folder where pods mount Secrets or configurations.
func holdsCredentials(name string) bool {
	if expand.Touches(name) {
		return true // the value of a variable may be such a folder
	}
	name = path.Clean(name) + "/"
	for _, dir := range [...]string{secretref.Dir, secretref.FilesDir, secretref.SecretsDir, podspec.ExtraSecretsDir,
		podspec.ConfigDir, podspec.ConfigInDir} {
		if strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// readsOfOthers reports files that an object of another namespace makes the agent read. It is a warning if such
// a file can hold credentials of others.
func readsOfOthers(agent, o *manifest.Object) (out diag.List) {
	if o.Namespace == agent.Namespace {
		return nil
	}
	for _, f := range filesOf(o) {
		severity, where := diag.Info, ""
		if holdsCredentials(f.name) {
			severity, where = diag.Warning, ", in a folder with credentials of others"
		}
		out = append(out, o.Place(diag.ReadsAgentFile.At(f.path,
			"%s is a file in the pods of GrafanaAgent %s/%s, of another namespace%s", f.name, agent.Namespace,
			agent.Name, where).As(severity)))
	}
	return out
}

// denied returns the finding that a ServiceMonitor or an IntegrationMonitor names files of the agent although
// the GrafanaAgent denies it. As with the operator, the whole monitor is left out. This is not an error that its
// last good version would remove: that would need the GrafanaAgent to allow it.
func denied(agent, o *manifest.Object) (f diag.Diagnostic, is bool) {
	if o.Kind != "ServiceMonitor" && o.Kind != v1alpha1.IntegrationMonitorKind {
		return f, false
	}
	files := filesOf(o)
	if len(files) == 0 {
		return f, false
	}
	return diag.FileAccessDenied.At(files[0].path, "%s",
		"the "+o.Kind+" is left out: GrafanaAgent "+agent.Namespace+"/"+agent.Name+
			" denies access to the agent's files").As(diag.Warning).With(agent.Ref()), true
}
