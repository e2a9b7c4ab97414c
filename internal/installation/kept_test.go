package installation

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const agentOf = `
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}}, EXTRA}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: all, namespace: m}
spec:
  serviceMonitorSelector: {}
  serviceMonitorNamespaceSelector: {}
  remoteWrite: [{url: "https://example.com/push", basicAuth: {username: {name: login, key: token}, password: {name: login, key: token}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: m}
type: example.com/token
data: {token: c2VjcmV0}
`

const monitorWithCredentials = `
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}
  endpoints:
    - port: http
      basicAuth: {username: {name: db, key: user}, password: {name: db, key: user}}
      tlsConfig: {ca: {configMap: {name: ca, key: pem}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, data: {user: eA==}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ca, namespace: shop}, data: {pem: x}}
`

const rights = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agents}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: agents}
subjects: [SUBJECT]
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: agents}, rules: []}
`

// TestWhatIsKept: of an export nothing is lost that a later render needs.
func TestWhatIsKept(t *testing.T) {
	agent := strings.ReplaceAll(agentOf, ", EXTRA", "")
	byType := []secretref.Rule{{Types: []string{"example.com/token"}, Policy: secretref.Reference}}
	plain := secretref.Policies{Default: secretref.Plaintext}
	reference := secretref.Policies{Default: secretref.Reference}
	for name, test := range map[string]struct {
		export   string
		policies secretref.Policies
		want     []string // files, each with a text in it after a colon
		without  string
	}{
		"Secrets of an agent that is paused": {strings.ReplaceAll(agentOf, "EXTRA", "paused: true"), plain,
			[]string{"m/login.secret.yaml.stub:type: example.com/token"}, ""},
		"Secrets of an agent with a mistake": {strings.ReplaceAll(agentOf, "EXTRA",
			`containers: [{name: "BAD NAME", image: x}]`), plain, []string{"m/login.secret.yaml.stub:"}, ""},
		"what pods cannot mount": {agent + monitorWithCredentials, reference, []string{"shop/ca.configmap.yaml:"},
			".stub"},
		"a rule about a type": {agent, secretref.Policies{Default: secretref.Plaintext, Rules: byType},
			[]string{"m/login.secret.yaml.stub:no value is needed"}, ""},
		"a rule about a name": {agent + monitorWithCredentials, secretref.Policies{Default: secretref.Reference,
			Rules: []secretref.Rule{{Names: []string{"db"}, Policy: secretref.Plaintext}}},
			[]string{"shop/db.secret.yaml.stub:Fill them in"}, "login"},
		"rights of the account default": {agent + strings.ReplaceAll(rights, "SUBJECT",
			"{kind: ServiceAccount, name: default, namespace: m}"), reference,
			[]string{"cluster/agents.clusterrole.yaml:", "cluster/agents.clusterrolebinding.yaml:"}, ""},
		"rights of all accounts of the namespace": {agent + strings.ReplaceAll(rights, "SUBJECT",
			`{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:m"}`), reference,
			[]string{"cluster/agents.clusterrole.yaml:", "cluster/agents.clusterrolebinding.yaml:"}, ""},
		"rights of others": {agent + strings.ReplaceAll(rights, "SUBJECT",
			`{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:other"}`), reference, nil,
			"agents.cluster"},
		"a kind of another group": {"{apiVersion: camel.apache.org/v1, kind: MetricsInstance, " +
			"metadata: {name: all, namespace: m}, spec: {}}\n---\n" + agent, reference,
			[]string{"m/all.metricsinstance.yaml:serviceMonitorSelector"}, ""},
		"a large integer": {agent + "---\n{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, " +
			"metadata: {name: web, namespace: shop}, spec: {selector: {}, sampleLimit: 9007199254740993}}\n", reference,
			[]string{"shop/web.servicemonitor.yaml:9007199254740993"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := read(t, test.export)
			files, err := in.Files(rendered(in, test.policies.Default), test.policies)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				path, text, _ := strings.Cut(want, ":")
				if !slices.ContainsFunc(files, func(f File) bool {
					return f.Path == path && strings.Contains(string(f.Data), text)
				}) {
					t.Errorf("there is no %s with %q among %q", path, text, files)
				}
			}
			for _, f := range files {
				if test.without != "" && strings.Contains(f.Path, test.without) {
					t.Errorf("there is %s", f.Path)
				}
			}
		})
	}
}

// TestMistakesInAnExport are reported, as those of files.
func TestMistakesInAnExport(t *testing.T) {
	in := read(t, strings.ReplaceAll(agentOf, "EXTRA", "logs: 1"))
	if _, found := in.Manifests(manifest.Options{}); !found.HasErrors() || found[0].Object.Name != "agent" {
		t.Errorf("%v", found)
	}
}
