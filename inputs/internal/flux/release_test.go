package flux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const shopChart = `{{ if .Values.fail }}{{ fail "no" }}{{ end }}
kind: ServiceMonitor
apiVersion: monitoring.coreos.com/v1
metadata: {name: {{ .Release.Name }}, labels: {team: {{ .Values.team }}}}
spec: {jobLabel: {{ .Values.token | quote }}, endpoints: [{port: {{ .Values.port }}{{ if .Values.random }}, path: {{ randAlpha 8 }}{{ end }}}]}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: x}
`

func helmRelease(spec string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: apps}\n" +
		"spec:\n  chart: {spec: {chart: charts/shop, sourceRef: {kind: GitRepository, name: flux-system, namespace: " +
		"flux-system}}}\n" + spec
}

func TestHelmReleasesAreRoots(t *testing.T) {
	charts := newCharts(t)
	for name, c := range map[string]struct{ files, want string }{
		"values of a ConfigMap and its own": {"a.yaml",
			"charts/shop/templates/m.yaml apps ServiceMonitor shop team-b web <nil>"},
		"values of a Secret": {"secret.yaml",
			"charts/shop/templates/m.yaml apps ServiceMonitor shop none http hunter22 secret: hunter22 by " +
				"spec.valuesFrom[0]"},
		"an encrypted Secret": {"encrypted.yaml",
			"charts/shop/templates/m.yaml apps ServiceMonitor shop none http <nil>"},
		"another namespace": {"target.yaml",
			"charts/shop/templates/m.yaml team ServiceMonitor team-shop none http <nil>"},
		"a suspended one": {"suspended.yaml",
			"hr/suspended.yaml: spec.suspend: Flux does not reconcile it, so it is not rendered"},
		"one for another cluster": {"elsewhere.yaml",
			"hr/elsewhere.yaml: spec.kubeConfig: it is for another cluster, so it is not rendered"},
		"a suspended one with an error": {"unfinished.yaml",
			"hr/unfinished.yaml: spec.suspend: Flux does not reconcile it, so it is not rendered"},
		"values that are not there": {"absent.yaml",
			"hr/absent.yaml: spec.valuesFrom[0]: ConfigMap apps/none is not in the inputs"},
		"a Secret that is not there": {"made.yaml", "charts/shop/templates/m.yaml apps ServiceMonitor shop none http <nil>"},
		"another repository": {"other.yaml",
			"hr/other.yaml: spec.chart.spec.sourceRef: it is unknown where GitRepository/apps/other is"},
		"a random monitor": {"random.yaml",
			"hr/random.yaml: spec.chart: templates/m.yaml: the ServiceMonitor depends on randomness or the time"},
		"a chart that fails": {"failing.yaml", "charts/shop/templates/m.yaml: the template fails; "},
	} {
		files := fstest.MapFS{}
		for name, text := range map[string]string{
			"charts/shop/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"charts/shop/values.yaml": "team: none\nport: http\n", "charts/shop/templates/m.yaml": shopChart,
			"hr/vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: apps}\n" +
				"data: {values.yaml: 'team: team-b'}\n",
			"hr/keys.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: apps}\n" +
				"stringData: {values.yaml: '{token: hunter22, port: http}'}\n",
			"hr/sealed.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: sealed, namespace: apps}\n" +
				"stringData: {values.yaml: 'ENC[x]'}\nsops: {}\n",
			"hr/a.yaml": helmRelease(
				"  valuesFrom: [{kind: ConfigMap, name: values}]\n  values: {port: web}\n"),
			"hr/secret.yaml":     helmRelease("  valuesFrom: [{kind: Secret, name: keys}]\n"),
			"hr/encrypted.yaml":  helmRelease("  valuesFrom: [{kind: Secret, name: sealed}]\n"),
			"hr/target.yaml":     helmRelease("  targetNamespace: team\n"),
			"hr/suspended.yaml":  helmRelease("  suspend: true\n"),
			"hr/unfinished.yaml": strings.Replace(helmRelease("  suspend: true\n"), "charts/shop", "''", 1),
			"hr/elsewhere.yaml":  helmRelease("  kubeConfig: {secretRef: {name: other}}\n"),
			"hr/absent.yaml":     helmRelease("  valuesFrom: [{kind: ConfigMap, name: none}]\n"),
			"hr/made.yaml":       helmRelease("  valuesFrom: [{kind: Secret, name: none}]\n"),
			"hr/other.yaml": strings.Replace(helmRelease(""), "name: flux-system, namespace: flux-system",
				"name: other", 1),
			"hr/random.yaml":  helmRelease("  values: {random: true}\n"),
			"hr/failing.yaml": helmRelease("  values: {port: {a: {b: [}}}\n"),
		} {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		files["hr/failing.yaml"].Data = []byte(helmRelease("  values: {fail: true}\n"))
		t.Run(name, func(t *testing.T) {
			if got := released(t, charts, files, c.files); !strings.HasPrefix(got, c.want) {
				t.Error(cmp.Diff(c.want, got))
			}
		})
	}
}

// released gives what the root of a HelmRelease gives.
func released(t *testing.T, charts *Charts, files fstest.MapFS, name string) string {
	t.Helper()
	open := func() (tree.Files, func(), error) { return files, func() {}, nil }
	opts := roots.Options{Open: open, Kustomize: charts.Kustomize, Charts: charts.Renderer}
	look := func(wanted ...roots.Root) (out [][]roots.Object, err error) {
		for _, r := range wanted {
			docs, err := r.Build(t.Context(), tree.New(t.Context(), files), opts)
			if _, failed := errors.AsType[*diag.Diagnostic](err); err != nil && !failed {
				return nil, err
			}
			out = append(out, roots.Objects(docs, Follows))
		}
		return out, nil
	}
	var paths []roots.Root
	for _, file := range []string{name, "vars.yaml", "keys.yaml", "sealed.yaml"} {
		paths = append(paths, roots.Root{Name: "hr/" + file, Folder: "hr", Generate: &kustomize.Generate{File: file}})
	}
	found, err := Walker{}.Walk(t.Context(), paths, look)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		if r.RequestedBy == nil {
			continue
		}
		docs, err := r.Build(t.Context(), tree.New(t.Context(), files), opts)
		if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
			return failed.File + ": " + failed.Problem()
		}
		if err != nil || len(docs) != 1 {
			t.Fatal(docs, err)
		}
		file, _, _ := docs[0].Origin.Find("", "")
		object := roots.Objects(docs, func(string, string) bool { return true })[0]
		spec := object.Value["spec"].(map[string]any)
		labels, _ := object.Value["metadata"].(map[string]any)["labels"].(map[string]any)
		text := fmt.Sprintf("%s %s %s %s %v %v %v", file, object.Namespace, object.Kind, object.Name, labels["team"],
			spec["endpoints"].([]any)[0].(map[string]any)["port"], spec["jobLabel"])
		for value, by := range docs[0].Secret {
			text += " secret: " + value + " by " + by
		}
		return text
	}
	return ""
}
