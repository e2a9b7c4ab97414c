package secretref

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// lists returns a resolver for the agent m/agent on which all integrations in a text were mounted.
func lists(t *testing.T, policy Policy, text string) *Resolver {
	t.Helper()
	parsed := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(objects + "---\n" + text)}, manifest.Options{})
	if parsed.Diags.HasErrors() {
		t.Fatal(parsed.Diags)
	}
	set := manifest.NewSet(parsed)
	r := New(set, Policies{Default: policy}, manifest.ID{Namespace: "m"})
	for _, kind := range []string{"Integration", "MetricsIntegration"} {
		for _, o := range set.Kind(kind) {
			r.Use(Deployment)
			if o.Name == "everywhere" {
				r.Use(DaemonSet)
			}
			r.In(o).Mount()
		}
	}
	return r
}

func second(namespace, name, spec string) string {
	return fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n"+
		"metadata: {name: %s, namespace: %s}\nspec: {name: redis, type: {}, config: {}, %s}\n---\n", name, namespace,
		spec)
}

func first(namespace, name, spec string) string {
	return fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsIntegration\n"+
		"metadata: {name: %s, namespace: %s}\nspec: {name: redis, %s}\n---\n", name, namespace, spec)
}

// volumes returns a line for each volume, then one for each finding.
func volumes(r *Resolver, pods Group) (out []string) {
	for _, v := range r.Volumes(pods, "agent") {
		text, optional, list := "", false, []corev1.KeyToPath(nil)
		if s := v.Source.Secret; s != nil {
			text, optional, list = "Secret "+s.SecretName, s.Optional != nil && *s.Optional, s.Items
		} else if c := v.Source.ConfigMap; c != nil {
			text, optional, list = "ConfigMap "+c.Name, c.Optional != nil && *c.Optional, c.Items
		}
		for _, i := range list {
			text += " " + i.Key + ">" + i.Path
		}
		if optional {
			text += " optional"
		}
		out = append(out, strings.TrimSpace(v.Name+": "+text+" at "+v.Path+" "+v.Short))
	}
	for _, d := range r.Diags() {
		out = append(out, fmt.Sprintf("%s %s %s: %s", d.Severity, d.Code, d.Object, d.Problem()))
	}
	return out
}

func TestVolumes(t *testing.T) {
	const shared = "agent-integrations-secrets: Secret agent-secrets "
	for name, c := range map[string]struct {
		policy Policy
		text   string
		want   []string
	}{
		"nothing": {Plaintext, second("m", "a", ""), nil},
		"keys in the operator's order, each once": {
			Plaintext, second("m", "a", "secrets: [{name: s, key: k}, {name: s, key: empty}], configMaps: [{name: c, "+
				"key: ca}]") + second("m", "b", "secrets: [{name: s, key: k}, {name: s, key: binary}]"),
			[]string{shared + "_secrets_m_s_k>secrets/m/s/k _secrets_m_s_empty>secrets/m/s/empty " +
				"_configMaps_m_c_ca>configMaps/m/c/ca _secrets_m_s_binary>secrets/m/s/binary at " +
				"/etc/grafana-agent/integrations"},
		},
		"keys of the cluster": {
			Reference, second("m", "a", "secrets: [{name: s, key: k}, {name: gone, key: x}], configMaps: [{name: c, "+
				"key: ca}]") + second("m", "b", "secrets: [{name: s, key: k}, {name: s, key: binary}]"),
			[]string{
				"integration-secret-s: Secret s k>k binary>binary optional at " +
					"/etc/grafana-agent/integrations/secrets/m/s",
				"integration-secret-gone: Secret gone x>x optional at /etc/grafana-agent/integrations/secrets/m/gone",
				"integration-configmap-c: ConfigMap c ca>ca optional at /etc/grafana-agent/integrations/configMaps/m/c",
			},
		},
		"names and keys of a MetricsIntegration": {
			Plaintext, first("m", "a", "secrets: [s-x, {name: s, key: k}], configMaps: [c]"),
			[]string{
				shared + "_secrets_m_s_x_k>secrets/m/s-x/k _secrets_m_s_x_x_k>secrets/m/s-x/x_k " +
					"_secrets_m_s_k>secrets/m/s/k _configMaps_m_c_ca>configMaps/m/c/ca at " +
					"/etc/grafana-agent/integrations",
				"integration-secret-s-x: Secret agent-secrets _secrets_m_s_x_k>k _secrets_m_s_x_x_k>x_k at  " +
					"/etc/grafana-agent/secrets/s-x",
				"integration-configmap-c: Secret agent-secrets _configMaps_m_c_ca>ca at  " +
					"/etc/grafana-agent/configmaps/c",
			},
		},
		"a name holds all keys, also those that others list": {
			Reference, second("m", "a", "secrets: [{name: s, key: k}]") + first("m", "b", "secrets: [s, gone]") +
				first("m", "c", "secrets: [{name: s, key: empty}]"),
			[]string{
				"integration-secret-s: Secret s optional at /etc/grafana-agent/integrations/secrets/m/s " +
					"/etc/grafana-agent/secrets/s",
				"integration-secret-gone: Secret gone optional at /etc/grafana-agent/integrations/secrets/m/gone " +
					"/etc/grafana-agent/secrets/gone",
			},
		},
		"one name in two namespaces": {
			Plaintext, first("m", "a", "secrets: [s]") + first("other", "b", "secrets: [s]"),
			[]string{
				shared + "_secrets_m_s_binary>secrets/m/s/binary _secrets_m_s_empty>secrets/m/s/empty " +
					"_secrets_m_s_k>secrets/m/s/k _secrets_other_s_k>secrets/other/s/k at " +
					"/etc/grafana-agent/integrations",
				"warning secret-key-collision MetricsIntegration/other/b: spec.secrets[0]: Secret other/s is not " +
					"mounted at /etc/grafana-agent/secrets/s: Secret m/s has the same name",
				"warning secret-key-collision MetricsIntegration/m/a: spec.secrets[0]: Secret m/s is not mounted at " +
					"/etc/grafana-agent/secrets/s: Secret other/s has the same name",
			},
		},
		"in pods of their own there is no clash": {
			Plaintext, first("m", "a", "secrets: [s]") + first("other", "everywhere", "secrets: [s]"),
			[]string{
				shared + "_secrets_m_s_binary>secrets/m/s/binary _secrets_m_s_empty>secrets/m/s/empty " +
					"_secrets_m_s_k>secrets/m/s/k at /etc/grafana-agent/integrations",
				"integration-secret-s: Secret agent-secrets _secrets_m_s_binary>binary _secrets_m_s_empty>empty " +
					"_secrets_m_s_k>k at  /etc/grafana-agent/secrets/s",
			},
		},
		"what is missing": {
			Plaintext, second("m", "a", "secrets: [{name: gone, key: k}, {name: s, key: gone}]") +
				first("m", "b", "secrets: [gone]"),
			[]string{
				"error missing-key Integration/m/a: spec.secrets[1]: Secret m/s, key gone: it has no such key",
				"error missing-secret Integration/m/a: spec.secrets[0]: Secret m/gone, key k: there is no such " +
					"Secret in the inputs",
				"error missing-secret MetricsIntegration/m/b: spec.secrets[0]: Secret m/gone: there is no such " +
					"Secret in the inputs",
			},
		},
		"optional": {
			Plaintext, second("m", "a", "secrets: [{name: gone, key: k, optional: true}]"),
			[]string{"warning optional-missing Integration/m/a: spec.secrets[0]: Secret m/gone, key k is not in the " +
				"inputs: the setting is left out"},
		},
		"another namespace": {
			Reference, first("other", "b", "secrets: [s]"),
			[]string{"error secret-across-namespaces MetricsIntegration/other/b: spec.secrets[0]: Secret other/s " +
				"cannot be mounted: a pod can only mount Secrets and ConfigMaps of its own namespace, m"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, volumes(lists(t, c.policy, c.text), Deployment)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestGroups holds that pods mount only what they use.
func TestGroups(t *testing.T) {
	s := scope(t, Reference, "m")
	s.Use(Metrics)
	s.Value("spec", key("s", "k"))
	s.Use(Logs | DaemonSet)
	s.Value("spec", key("s", "k"))
	s.Value("spec", key("s", "empty"))
	for pods, want := range map[Group]int{Metrics: 1, Logs: 2, DaemonSet: 2, Deployment: 0} {
		got := 0
		for _, p := range s.Projections(pods) {
			got += len(p.Secret.Items)
		}
		if got != want {
			t.Errorf("pods %b mount %d keys, not %d", pods, got, want)
		}
	}
}

// TestOwnKinds holds that references of agentry's own kinds are found.
func TestOwnKinds(t *testing.T) {
	text := first("m", "a", "secrets: [whole, {name: s, key: k}], configMaps: [{name: c, key: ca}]") +
		`apiVersion: monitoring.grafana.com/v1alpha1
kind: IntegrationMonitor
metadata: {name: i, namespace: m}
spec:
  selector: {}
  basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}
  authorization: {credentials: {name: s, key: a}}
  oauth2: {clientId: {configMap: {name: c, key: id}}, clientSecret: {name: s, key: o}, tokenUrl: "https://x"}
  tlsConfig: {ca: {configMap: {name: c, key: ca}}, cert: {secret: {name: s, key: cert}}, keySecret: {name: s, key: key}}
`
	parsed := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	if parsed.Diags.HasErrors() {
		t.Fatal(parsed.Diags)
	}
	var got []string
	for _, o := range parsed.Objects {
		for _, f := range References(o) {
			got = append(got, f.Path+" "+f.Ref.String())
		}
	}
	want := []string{
		"spec.secrets[1] Secret m/s, key k", "spec.configMaps[0] ConfigMap m/c, key ca",
		"spec.basicAuth.username Secret m/s, key u", "spec.basicAuth.password Secret m/s, key p",
		"spec.authorization.credentials Secret m/s, key a",
		"spec.oauth2.clientId.configMap ConfigMap m/c, key id", "spec.oauth2.clientSecret Secret m/s, key o",
		"spec.tlsConfig.ca.configMap ConfigMap m/c, key ca", "spec.tlsConfig.cert.secret Secret m/s, key cert",
		"spec.tlsConfig.keySecret Secret m/s, key key",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
