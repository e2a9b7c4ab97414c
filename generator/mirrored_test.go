package generator_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestMirrorsFollowTheirSource holds that a unit is rendered again when the ExternalSecret that it copies changes,
// comes or goes, and is taken over as it is otherwise.
func TestMirrorsFollowTheirSource(t *testing.T) {
	hierarchy := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: db, namespace: shop}
spec: {selector: {}, endpoints: [{port: a, bearerTokenSecret: {name: db, key: token}}]}
`)}, manifest.Options{})
	external := func(key string) manifest.Result {
		return manifest.Parse(manifest.File{Path: "external.yaml", Data: []byte(`apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: db, namespace: shop}
spec: {secretStoreRef: {kind: ClusterSecretStore, name: vault}, dataFrom: [{extract: {key: ` + key + `}}]}
`)}, manifest.Options{})
	}
	opts := generator.Options{Secrets: secretref.Reference,
		Mirror: &mirror.Settings{ExternalSecret: &mirror.ExternalSecret{Copy: true, Kubernetes: true}}}
	one, two := external("one"), external("two")
	var before *generator.Output
	for _, step := range []struct {
		what  string
		files []manifest.Result
		want  string // in the ExternalSecret
		same  bool   // as before
	}{
		{"a first render", []manifest.Result{hierarchy, one}, "key: one", false},
		{"nothing changes", []manifest.Result{hierarchy, one}, "key: one", true},
		{"it changes", []manifest.Result{hierarchy, two}, "key: two", false},
		{"it goes", []manifest.Result{hierarchy}, "key: db", false},
		{"it comes", []manifest.Result{hierarchy, one}, "key: one", false},
	} {
		out := generator.Render(manifest.NewSet(step.files...), opts, before)
		if out.Diags.HasErrors() {
			t.Fatal(out.Diags)
		}
		text := ""
		for _, f := range out.Units[0].Files {
			if f.Object.Kind == "ExternalSecret" {
				text += string(f.Data)
			}
		}
		if !strings.Contains(text, step.want) {
			t.Errorf("%s: no %q in\n%s", step.what, step.want, text)
		}
		if same := before != nil && out.Units[0] == before.Units[0]; same != step.same {
			t.Errorf("%s: the unit is the same: %v", step.what, same)
		}
		before = out
	}
}
