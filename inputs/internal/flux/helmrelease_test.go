package flux

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/test/testworker"
)

// objectsOf are the objects of YAML documents.
func objectsOf(t *testing.T, documents string) Objects {
	t.Helper()
	known := map[string]map[string]any{}
	for doc := range strings.SplitSeq(documents, "---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		known[text(o, "kind")+"/"+text(o, "metadata.namespace")+"/"+text(o, "metadata.name")] = o
	}
	return func(kind, namespace, name string) map[string]any { return known[kind+"/"+namespace+"/"+name] }
}

func release(t *testing.T, spec string) *HelmRelease {
	t.Helper()
	r, err := ParseHelmRelease([]byte("metadata: {name: shop, namespace: apps}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const ref = "chartRef: {kind: OCIRepository, name: shop}\n"

func TestValuesOfReferences(t *testing.T) {
	objects := objectsOf(t, `
kind: ConfigMap
metadata: {name: base, namespace: apps}
data:
  values.yaml: |
    a: {x: 1, w: 1}
    list: [1, 2]
  number: "30000000"
---
kind: Secret
metadata: {name: keys, namespace: apps}
data: {password: aHVudGVyMg==}
stringData: {more.yaml: "a: {w: 2}\ngone: null"}
`)
	r := release(t, ref+`
valuesFrom:
- {kind: ConfigMap, name: base}
- {kind: ConfigMap, name: base, valuesKey: number, targetPath: count}
- {kind: Secret, name: keys, valuesKey: more.yaml}
- {kind: Secret, name: keys, valuesKey: password, targetPath: auth.password}
- {kind: Secret, name: absent, optional: true}
- {kind: Secret, name: keys, valuesKey: absent, optional: true}
values: {a: {z: 3}, list: [3]}
`)
	got, err := r.Release(nil, objects, helm.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": map[string]any{"x": 1., "w": 2., "z": 3.}, "list": []any{3.}, "count": int64(30_000_000), "gone": nil,
		"auth": map[string]any{"password": "hunter2"},
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesThatCannotBeRead(t *testing.T) {
	objects := objectsOf(
		t, "kind: Secret\nmetadata: {name: keys, namespace: apps}\n"+
			"stringData: {values.yaml: 'hunter2: [', list: '[hunter2'}\n")
	for spec, want := range map[string]string{
		"{kind: ConfigMap, name: absent}": "spec.valuesFrom[0]: ConfigMap apps/absent " +
			"is not in the inputs",
		"{kind: Secret, name: keys, valuesKey: absent}": "spec.valuesFrom[0]: Secret apps/keys " +
			"has no key absent",
		"{kind: Secret, name: keys}": "spec.valuesFrom[0]: Secret keys does " +
			"not hold Helm values",
		"{kind: Secret, name: keys, valuesKey: list, targetPath: 'a[x].b'}": "spec.valuesFrom[0]: Secret keys does " +
			"not hold Helm values",
		"{kind: Pod, name: keys}": `spec.valuesFrom[0].kind: "Pod" cannot hold values`,
	} {
		_, err := release(t, ref+"valuesFrom: ["+spec+"]").Release(nil, objects, helm.Cluster{})
		if _, ok := errors.AsType[*diag.Diagnostic](err); !ok || err.Error() != want {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

func TestNamesOfReleases(t *testing.T) {
	long := strings.Repeat("a", 60)
	for spec, want := range map[string]string{
		"":                                       "shop in apps",
		"targetNamespace: other":                 "other-shop in other",
		"releaseName: r\ntargetNamespace: other": "r in other",
		"releaseName: " + long:                   strings.Repeat("a", 40) + "-11ee391211c6 in apps",
	} {
		r := release(t, ref+spec)
		if got := r.ReleaseName() + " in " + r.Namespace(); got != want {
			t.Errorf("%q: got %s", spec, got)
		}
	}
}

func TestWhichChart(t *testing.T) {
	objects := objectsOf(t, `
kind: HelmRepository
metadata: {name: http, namespace: flux-system}
spec: {url: https://charts.example.com}
---
kind: HelmRepository
metadata: {name: oci, namespace: apps}
spec: {url: oci://ghcr.io/shop, type: oci}
---
kind: OCIRepository
metadata: {name: shop, namespace: apps}
spec: {url: oci://ghcr.io/charts/shop, ref: {semver: 1.x}}
---
kind: OCIRepository
metadata: {name: signed, namespace: apps}
spec: {url: oci://ghcr.io/charts/shop, verify: {provider: cosign}}
---
kind: HelmChart
metadata: {name: shop, namespace: apps}
spec: {chart: shop, version: 2.x, sourceRef: {kind: HelmRepository, name: oci}}
`)
	for spec, want := range map[string]Chart{
		"chart: {spec: {chart: shop, version: 1.x, sourceRef: {kind: HelmRepository, name: http, namespace: " +
			"flux-system}}}": {
			Remote: &chart.Source{URL: "https://charts.example.com", Name: "shop", Version: "1.x"}},
		"chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: oci}}}": {
			Remote: &chart.Source{URL: "oci://ghcr.io/shop/web"}},
		"chart: {spec: {chart: ./charts/web, valuesFiles: [a.yaml], sourceRef: {kind: GitRepository, name: apps}}}": {
			Source: ObjectRef{"GitRepository", "apps", "apps"}, Folder: "charts/web", ValuesFiles: []string{"a.yaml"}},
		ref: {Remote: &chart.Source{URL: "oci://ghcr.io/charts/shop", Version: "1.x"}},
		"chartRef: {kind: OCIRepository, name: signed}": {Remote: &chart.Source{URL: "oci://ghcr.io/charts/shop",
			Version: "latest"}, Verify: "spec.chartRef.verify"},
		"chart: {spec: {chart: a, verify: {provider: cosign}, sourceRef: {kind: HelmRepository, name: oci}}}": {
			Remote: &chart.Source{URL: "oci://ghcr.io/shop/a"}, Verify: "spec.chart.spec.verify"},
		"chartRef: {kind: HelmChart, name: shop}": {Remote: &chart.Source{URL: "oci://ghcr.io/shop/shop",
			Version: "2.x"}},
	} {
		got, err := release(t, spec).Chart(objects)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", spec, err, diff)
		}
	}
	for spec, want := range map[string]string{
		"chartRef: {kind: OCIRepository, name: absent}":                                      "spec.chartRef: OCIRepository apps/absent is not in the inputs",
		"chart: {spec: {chart: a, sourceRef: {kind: Bucket, name: b}}}":                      "spec.chart.spec.sourceRef.kind: charts of kind Bucket are not read",
		"chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: b}}}":              "spec.chart.spec.sourceRef: HelmRepository apps/b is not in the inputs",
		"chart: {spec: {chart: a, verify: {}, sourceRef: {kind: GitRepository, name: oci}}}": "spec.chart.spec.verify: a chart in a GitRepository has no signature",
	} {
		if _, err := release(t, spec).Chart(objects); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

func TestPostRenderers(t *testing.T) {
	docs := []helm.Document{
		{Template: "templates/a.yaml", Kind: "Deployment",
			Text: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"},
		{Template: "templates/b.yaml", Kind: "ServiceMonitor", Lookup: true,
			Text: "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n"},
	}
	r := release(t, ref+`
postRenderers:
- kustomize:
    patches:
    - patch: |
        - op: add
          path: /spec
          value: {replicas: 2}
      target: {kind: Deployment}
- kustomize:
    patches:
    - patch: |
        apiVersion: monitoring.coreos.com/v1
        kind: ServiceMonitor
        metadata: {name: m, labels: {team: shop}}
`)
	got, err := r.PostRender(t.Context(), docs, testworker.Kustomize())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		switch d.Kind {
		case "Deployment":
			if d.Template != "templates/a.yaml" || !strings.Contains(d.Text, "replicas: 2") {
				t.Errorf("got %+v", d)
			}
		case "ServiceMonitor":
			if d.Template != "templates/b.yaml" || !d.Lookup || !strings.Contains(d.Text, "team: shop") ||
				strings.Contains(d.Text, "origin") {
				t.Errorf("got %+v", d)
			}
		}
	}
	if len(got) != len(docs) {
		t.Errorf("got %+v", got)
	}
	for _, patch := range []string{"{patch: 'kind: hunter2'}", "{path: /etc/passwd}",
		"{patch: 'not: [a patch hunter2'}"} {
		_, err := release(t, ref+"postRenderers: [{kustomize: {patches: ["+patch+"]}}]").PostRender(t.Context(), docs,
			testworker.Kustomize())
		if _, ok := errors.AsType[*diag.Diagnostic](err); !ok || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", patch, err)
		}
	}
}

func TestValuesFilesReplaceTheChartsValues(t *testing.T) {
	files := []helm.File{{Name: "values.yaml", Data: []byte("a: 1")}, {Name: "prod.yaml", Data: []byte("b: {c: 2}")},
		{Name: "eu.yaml", Data: []byte("b: {d: 3}")}}
	got, err := WithValuesFiles(files,
		Chart{ValuesFiles: []string{"prod.yaml", "./eu.yaml", "absent.yaml"}, IgnoreMissing: true}, InChart(files))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := InChart(got)("values.yaml"); string(text) != "b:\n  c: 2\n  d: 3\n" {
		t.Errorf("got %s", text)
	}
	if _, err := WithValuesFiles(files, Chart{ValuesFiles: []string{"absent.yaml"}}, InChart(files)); err == nil ||
		!strings.Contains(err.Error(), "the file absent.yaml does not exist") {
		t.Errorf("got %v", err)
	}
}
