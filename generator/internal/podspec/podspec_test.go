package podspec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// agentObject returns a GrafanaAgent; spec is the inside of a flow mapping.
func agentObject(name, spec string) string {
	return fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
		"metadata: {name: %s, namespace: m}\nspec: {integrations: {selector: {}}%s}\n---\n", name, spec)
}

// one returns an Integration, own a MetricsIntegration.
func one(name, spec string) string {
	return fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n"+
		"metadata: {name: %s, namespace: m}\nspec: {name: redis, type: {}, config: {}%s}\n---\n", name, spec)
}

func own(name, spec string) string {
	return fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsIntegration\n"+
		"metadata: {name: %s, namespace: m}\nspec: {name: redis%s}\n---\n", name, spec)
}

const secrets = `apiVersion: v1
kind: Secret
metadata: {name: db, namespace: m}
stringData: {dsn: hunter2, user: root}
---
`

// built merges all integrations of a text for the Deployment.
func built(t *testing.T, policy secretref.Policy, text string) Extras {
	t.Helper()
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	set := manifest.NewSet(r)
	resolver := secretref.New(set, secretref.Policies{Default: policy}, manifest.ID{Namespace: "m"})
	resolver.Use(secretref.Deployment)
	var members []*manifest.Object
	for _, kind := range []string{"Integration", "MetricsIntegration"} {
		members = append(members, set.Kind(kind)...)
	}
	for _, o := range members {
		resolver.In(o).Mount()
	}
	if d := resolver.Diags(); d.HasErrors() {
		t.Fatal(d)
	}
	return Integrations(set.Kind("GrafanaAgent")[0], secretref.Deployment, members, resolver)
}

// summary returns a line for each mount, for each volume that nothing mounts, and for each finding.
func summary(e Extras) (out []string) {
	sources := map[string]string{}
	for i := range e.Volumes {
		sources[e.Volumes[i].Name] = source(&e.Volumes[i])
	}
	mounted := map[string]bool{}
	for _, m := range e.Mounts {
		mounted[m.Name] = true
		text := m.MountPath + " " + m.Name + " " + sources[m.Name]
		if m.SubPath != "" {
			text += " /" + m.SubPath
		}
		if m.ReadOnly {
			text += " ro"
		}
		out = append(out, text)
	}
	for _, v := range e.Volumes {
		if !mounted[v.Name] {
			out = append(out, "unmounted "+v.Name)
		}
	}
	for _, d := range e.Diags {
		out = append(out, fmt.Sprintf("%s[%s] %s %s", d.Severity, d.Code, d.Object, d.Problem()))
	}
	return out
}

func source(v *corev1.Volume) string {
	switch {
	case v.HostPath != nil:
		return "host " + v.HostPath.Path
	case v.Secret != nil:
		text := "secret " + v.Secret.SecretName
		for _, i := range v.Secret.Items {
			text += " " + i.Key + ">" + i.Path
		}
		return text
	case v.EmptyDir != nil:
		return "empty"
	}
	return "default"
}

// tail has the operator's own mounts, in a pod of the agent "agent".
var tail = []string{
	"/var/lib/grafana-agent/data agent-integrations-deploy-wal empty",
	"/var/log varlog host /var/log ro",
	"/var/lib/docker/containers dockerlogs host /var/lib/docker/containers ro",
}

func TestIntegrations(t *testing.T) {
	long := strings.Repeat("v", 60)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing": {agentObject("agent", "") + one("a", ""), tail},
		"a volume mounted twice keeps both mounts": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, hostPath: {path: /}}], volumeMounts: [{name: h, mountPath: /x}, {name: h, "+
					"mountPath: /y, subPath: sub}]"),
			append([]string{"/x m-a-h host /", "/y m-a-h host / /sub"}, tail...),
		},
		"a volume that nothing mounts is kept": {
			agentObject("agent", "") + one("a", ", volumes: [{name: h, emptyDir: {}}]"),
			append(tail[:3:3], "unmounted m-a-h"),
		},
		"of two volumes at one path the first is mounted, with a warning": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]") +
				one("b", ", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]"),
			append(append([]string{"/x m-a-h empty"}, tail...),
				"warning[mount-conflict] Integration/m/b spec.volumeMounts[0]: the mount is left out: "+
					"Integration/m/a (in.yaml:9) mounts another volume at /x"),
		},
		"two mounts of one folder of the host are one": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, hostPath: {path: /proc}}], volumeMounts: [{name: h, mountPath: /x}]") +
				own("b", ", volumes: [{name: p, hostPath: {path: /proc}}], volumeMounts: [{name: p, mountPath: /x}]"),
			append([]string{"/x m-a-h host /proc"}, tail...),
		},
		"a MetricsIntegration may not take a path from an Integration": {
			agentObject("agent", "") + one("b",
				", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]") +
				own("a", ", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]"),
			append(append([]string{"/x m-b-h empty"}, tail...),
				"error[mount-conflict] MetricsIntegration/m/a spec.volumeMounts[0]: Integration/m/b (in.yaml:9) "+
					"mounts another volume at /x"),
		},
		"two MetricsIntegrations are both in error": {
			agentObject("agent", "") + own("a",
				", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]") +
				own("b", ", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}]"),
			append(append([]string{"/x m-a-h empty"}, tail...),
				"error[mount-conflict] MetricsIntegration/m/b spec.volumeMounts[0]: MetricsIntegration/m/a "+
					"(in.yaml:9) mounts another volume at /x",
				"error[mount-conflict] MetricsIntegration/m/a spec.volumeMounts[0]: MetricsIntegration/m/b "+
					"(in.yaml:14) mounts another volume at /x"),
		},
		"an integration may mount a volume of its own for the WAL": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, hostPath: {path: /wal}}], volumeMounts: [{name: h, mountPath: "+
					"/var/lib/grafana-agent/data}]"),
			append([]string{"/var/lib/grafana-agent/data m-a-h host /wal"}, tail[1:]...),
		},
		"not in the place of the configuration": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: "+
					"/var/lib/grafana-agent/config/}]"),
			append(tail[:3:3], "unmounted m-a-h",
				"error[invalid-rendered-object] Integration/m/a spec.volumeMounts[0]: Kubernetes would refuse two "+
					"mounts at /var/lib/grafana-agent/config/: the agent mounts one there itself"),
		},
		"nor of a mount of the GrafanaAgent": {
			agentObject("agent", ", secrets: [s], volumes: [{name: v}], volumeMounts: [{name: v, mountPath: /x}]") +
				one("a", ", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}, {name: h, "+
					"mountPath: /var/lib/grafana-agent/extra-secrets/s}]"),
			append(tail[:3:3], "unmounted m-a-h",
				"error[invalid-rendered-object] Integration/m/a spec.volumeMounts[0]: Kubernetes would refuse two "+
					"mounts at /x: spec.volumeMounts[0] of the GrafanaAgent is there too",
				"error[invalid-rendered-object] Integration/m/a spec.volumeMounts[1]: Kubernetes would refuse two "+
					"mounts at /var/lib/grafana-agent/extra-secrets/s: spec.secrets of the GrafanaAgent is mounted "+
					"there too"),
		},
		"a volume of the GrafanaAgent under the operator's name for it": {
			agentObject("agent", ", volumes: [{name: m-a-h, emptyDir: {}}]") +
				one("a", ", volumeMounts: [{name: h, mountPath: /x}]"),
			append([]string{"/x m-a-h "}, tail...),
		},
		"a volume that is nowhere": {
			agentObject("agent", "") + one("a", ", volumeMounts: [{name: h, mountPath: /x}]"),
			append(tail[:3:3], `error[invalid-rendered-object] Integration/m/a spec.volumeMounts[0]: Kubernetes would refuse a mount of a volume "h" that the Integration does not have`),
		},
		"what is wrong in a volume and a mount": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, secret: {}}, {name: '', emptyDir: {}}, {name: h, emptyDir: {}}], "+
					"volumeMounts: [{name: h, mountPath: '/a:b'}]"),
			append(tail[:3:3], "unmounted m-a-h",
				`error[invalid-rendered-object] Integration/m/a spec.volumes[0]: Kubernetes would refuse the volume "h": secret.secretName is empty`,
				"error[invalid-rendered-object] Integration/m/a spec.volumes[1]: Kubernetes would refuse a volume "+
					"without a name",
				`warning[mount-conflict] Integration/m/a spec.volumes[2].name: the volume is left out: there is another one named "h"`,
				`error[invalid-rendered-object] Integration/m/a spec.volumeMounts[0]: Kubernetes would refuse the mount path "/a:b": it must not be empty or contain a colon`),
		},
		"two files at one place": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: h, projected: {sources: [{secret: {name: s, items: [{key: a, path: f}, {key: b, "+
					"path: f/g}]}}]}}]"),
			append(tail[:3:3], "unmounted m-a-h",
				`warning[pod-warning] Integration/m/a spec.volumes[0]: the volume "h": two files overlap, "f" and "f/g"`),
		},
		"names that Kubernetes would refuse are changed": {
			agentObject("agent", "") + one("a.b",
				", volumes: [{name: h, emptyDir: {}}, {name: "+long+
					", emptyDir: {}}], volumeMounts: [{name: h, mountPath: /x}, {name: "+long+", mountPath: /y}]"),
			append([]string{"/x m-a-b-h-c6f1118b empty", "/y m-a-b-" + strings.Repeat("v", 48) + "-7eaf5956 empty"},
				tail...),
		},
		"names that two would have": {
			agentObject("agent", "") + one("a",
				", volumes: [{name: b-c, emptyDir: {}}], volumeMounts: [{name: b-c, mountPath: /x}]") +
				one("a-b", ", volumes: [{name: c, emptyDir: {}}], volumeMounts: [{name: c, mountPath: /y}]") +
				own("a", ", volumes: [{name: b-c, emptyDir: {}}], volumeMounts: [{name: b-c, mountPath: /z}]"),
			append([]string{"/x m-a-b-c empty", "/y m-a-b-c-beb09add empty", "/z m-a-b-c-9b65b6fd empty"}, tail...),
		},
		"an agent's name with dots": {
			agentObject("an.agent", "") + one("a", ""),
			append([]string{"/var/lib/grafana-agent/data an-agent-integrations-deploy-wal-cb34c3f6 empty"},
				tail[1:]...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, summary(built(t, secretref.Plaintext, c.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFiles is about spec.secrets and spec.configMaps; package secretref tests how they resolve.
func TestFiles(t *testing.T) {
	const whole = ", secrets: [db]"
	files := "/etc/grafana-agent/integrations agent-integrations-secrets secret agent-secrets " +
		"_secrets_m_db_dsn>secrets/m/db/dsn _secrets_m_db_user>secrets/m/db/user ro"
	short := "/etc/grafana-agent/secrets/db integration-secret-db secret agent-secrets _secrets_m_db_dsn>dsn " +
		"_secrets_m_db_user>user ro"
	volume := func(path string) string {
		return ", volumes: [{name: h, emptyDir: {}}], volumeMounts: [{name: h, mountPath: " + path + "}]"
	}
	for name, c := range map[string]struct {
		policy secretref.Policy
		text   string
		want   []string
	}{
		"a key, in its volume of the operator": {
			secretref.Plaintext, one("a", ", secrets: [{name: db, key: dsn}]"),
			append([]string{"/etc/grafana-agent/integrations agent-integrations-secrets secret agent-secrets " +
				"_secrets_m_db_dsn>secrets/m/db/dsn ro"}, tail...),
		},
		"a whole Secret, at both paths": {secretref.Plaintext, own("a", whole),
			append([]string{files, short}, tail...)},
		"both paths have one volume over the cluster's own": {
			secretref.Reference, own("a", whole),
			append([]string{"/etc/grafana-agent/integrations/secrets/m/db integration-secret-db secret db ro",
				"/etc/grafana-agent/secrets/db integration-secret-db secret db ro"}, tail...),
		},
		"the first RFC's path gives way": {
			secretref.Plaintext, own("a", whole) + one("b", volume("/etc/grafana-agent/secrets/db")),
			append(append([]string{"/etc/grafana-agent/secrets/db m-b-h empty", files}, tail...),
				"warning[mount-conflict] MetricsIntegration/m/a spec: its files are not mounted at "+
					"/etc/grafana-agent/secrets/db: Integration/m/b (in.yaml:19) mounts a volume there"),
		},
		"the second RFC's does not": {
			secretref.Plaintext, own("a", whole) + one("b", volume("/etc/grafana-agent/integrations/secrets/mine")),
			append(append([]string{"/etc/grafana-agent/integrations/secrets/mine m-b-h empty", files, short}, tail...),
				"error[mount-conflict] Integration/m/b spec.volumeMounts[0]: the files of spec.secrets and "+
					"spec.configMaps of MetricsIntegration/m/a are mounted at "+
					"/etc/grafana-agent/integrations/secrets/mine"),
		},
		"but a folder beside it is fine": {
			secretref.Plaintext, own("a", whole) + one("b", volume("/etc/grafana-agent/integrations/mine")),
			append([]string{"/etc/grafana-agent/integrations/mine m-b-h empty", files, short}, tail...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := summary(built(t, c.policy, agentObject("agent", "")+secrets+c.text))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 63)} {
		if Label(name) != name || ServiceName(name) != name {
			t.Errorf("%s is changed", name)
		}
	}
	if got := Label("1-a"); got != "1-a" {
		t.Errorf("Label: %s", got)
	}
	for _, name := range []string{"1-a", "", "a.b", "a-b.", "A_B", "é", strings.Repeat("a", 64),
		strings.Repeat("a-", 60)} {
		if got := ServiceName(name); len(validation.IsDNS1035Label(got)) > 0 {
			t.Errorf("ServiceName(%q) = %q", name, got)
		}
		if got := Label(name); len(validation.IsDNS1123Label(got)) > 0 {
			t.Errorf("Label(%q) = %q", name, got)
		}
	}
	if Label("a.b") == Label("a_b") {
		t.Error("two names became one")
	}
	for name, want := range map[string]string{
		"secret-My.Secret_X":                       "secret-my-secret-x",
		"secret-a..b":                              "secret-a-b",
		"secret-é":                                 "secret",
		"secret-" + strings.Repeat("a", 57):        "secret-" + strings.Repeat("a", 56),
		"secret-" + strings.Repeat("a", 55) + ".b": "secret-" + strings.Repeat("a", 55),
	} {
		if got := ObjectVolume(name); got != want {
			t.Errorf("ObjectVolume(%q) = %q, want %q", name, got, want)
		}
	}
}
