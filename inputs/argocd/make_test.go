package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// repository is a Git repository with all kinds of sources of Applications, and another repository below other/.
const sources = `
-- plain/a.yaml --
# a comment
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
-- plain/c.json --
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
-- plain/skipped.yaml --
# +argocd:skip-file-rendering
apiVersion: v1
kind: ConfigMap
metadata: {name: skipped}
-- plain/hook.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {argocd.argoproj.io/hook: PreSync}}
-- plain/README.md --
kind: ConfigMap
-- plain/below/d.yml --
apiVersion: v1
kind: ConfigMap
metadata: {name: d}
-- plain/below/e-test.yml --
apiVersion: v1
kind: ConfigMap
metadata: {name: e}
-- jsonnet/a.jsonnet --
{}
-- overlay/kustomization.yaml --
resources: [m.yaml]
commonAnnotations: {own: x}
-- overlay/m.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: m}
spec: {selector: {}, endpoints: [{port: a}]}
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches: [{patch: '- {op: add, path: /spec/jobLabel, value: app}', target: {kind: ServiceMonitor}}]
-- chart/Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
-- chart/values.yaml --
team: none
port: http
-- chart/prod.yaml --
port: prod
from: chart
-- chart/templates/m.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {in: {{ .Release.Namespace }}}}
data: {values: {{ .Values | toJson | quote }}, version: {{ .Capabilities.KubeVersion.Version }}}
-- chart/templates/hook.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
-- chart/templates/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
-- random/Chart.yaml --
apiVersion: v2
name: random
version: 1.0.0
-- random/templates/m.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: {{ randAlphaNum 5 }}}
-- written/.argocd-source.yaml --
kustomize: {namePrefix: all-}
-- written/.argocd-source-app.yaml --
kustomize: {nameSuffix: -app}
-- written/kustomization.yaml --
resources: [../overlay]
-- envs/a.yaml --
env: a
list: [a]
-- envs/z.yaml --
env: z
-- envs/nested/c.yaml --
env: c
-- other/values/shop.yaml --
port: other
from: other
`

// maker makes an Application with a specification.
func maker(t *testing.T, spec string) ([]manifest.Built, error) {
	t.Helper()
	repository := files(sources)
	text := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
	repository["apps/app.yaml"] = files("-- x --\n" + text)["x"]
	open := func() (tree.Files, func(), error) { return repository, func() {}, nil }
	o := roots.Object{Built: manifest.Built{Text: []byte(text), Origin: kustomize.InFile(open, "apps/app.yaml")},
		Object: diag.Object{APIVersion: APIVersion, Kind: ApplicationKind, Namespace: "argocd", Name: "app"},
		Value:  object(t, text)}
	known := own()
	known.Folders = map[string]string{"other": "other"}
	w := &walk{Walker: Walker{Repositories: known}, known: map[string]any{}}
	root, isNew := w.requested(o)
	if !isNew {
		t.Fatal("the Application is not new")
	}
	charts := &chart.Renderer{Workers: newWorkers(t)}
	return root.Build(context.Background(), tree.New(context.Background(), repository),
		roots.Options{Open: open, Kustomize: testworker.Kustomize(), Charts: charts})
}

const fleet = "repoURL: git@git.example.com:fleet.git"

// TestApplications checks sources against Argo CD's documentation.
func TestApplications(t *testing.T) {
	to := func(source string) string {
		return "destination: {namespace: shop}\nsource: {" + fleet + ", " + source + "}"
	}
	longest := strings.Repeat("r", 53) // which a release's name may be
	for _, c := range []struct {
		name, spec string
		want       []string // names, or parts of texts
	}{
		{"a directory", to("path: plain"), []string{"name: a", "name: b", `"name": "c"`}},
		{"with all below", to("path: plain, directory: {recurse: true}"),
			[]string{"name: a", "name: b", `"name": "c"`, "name: d", "name: e"}},
		{"some files", to("path: plain, directory: {recurse: true, include: '{*.json,below/*}', exclude: '*-test.yml'}"), []string{`"name": "c"`, "name: d"}},
		{"a kustomization", to("path: overlay"), []string{"annotations:\n    own: x\n  name: m\n"}},
		{"with changes", to(
			`path: overlay, kustomize: {namePrefix: p-, nameSuffix: -s, namespace: own, commonLabels: {team: $ARGOCD_APP_NAME}, commonAnnotations: {note: $x},
			labelWithoutSelector: true, components: [../part, ../absent], ignoreMissingComponents: true, images: ['a=b:v1@sha256:1'],
			patches: [{target: {kind: ServiceMonitor}, patch: '- {op: replace, path: /spec/endpoints/0/port, value: web}'}]}`),
			[]string{"  annotations:\n    note: $x\n    own: x\n  labels:\n    team: app\n  name: p-m-s\n" +
				"  namespace: own\nspec:\n  endpoints:\n  - port: web\n  jobLabel: app\n"}},
		{"changes of files", to("path: written"), []string{"name: all-m-app\n"}},
		{"a chart", to("path: chart"),
			[]string{`{name: app, labels: {in: shop}}` + "|" + `"{\"port\":\"http\",\"team\":\"none\"}"`}},
		{"with values", to(`path: chart, helm: {releaseName: ` + longest + `, namespace: own, kubeVersion: '1.30', valueFiles: [prod.yaml, /envs/a.yaml, absent.yaml], ignoreMissingValueFiles: true,
			valuesObject: {team: $ARGOCD_APP_NAME}, parameters: [{name: port, value: '8080'}, {name: text, value: '1', forceString: true}, {name: named, value: '${ARGOCD_APP_NAME}-a,b'}],
			fileParameters: [{name: file, path: ../envs/z.yaml}]}`),
			[]string{`{name: ` + longest + `, labels: {in: own}}` + "|" +
				`"{\"env\":\"a\",\"file\":\"env: z\\n\",\"from\":\"chart\",\"list\":[\"a\"],\"named\":\"app-a,b\",\"port\":8080,\"team\":\"$ARGOCD_APP_NAME\",\"text\":\"1\"}"` + "|v1.30"}},
		{"values as a text", to("path: chart, helm: {values: 'team: t'}"), []string{`\"team\":\"t\"`}},
		{"all files of a pattern", to("path: chart, helm: {valueFiles: [/envs/**/*.yaml]}"), []string{`\"env\":\"c\"`}},
		{"a file that a pattern matches too", to("path: chart, helm: {valueFiles: [/envs/*.yaml, /envs/a.yaml]}"),
			[]string{`\"env\":\"a\"`}},
		{"several sources", "sources:\n- {" + fleet +
			", path: chart, helm: {valueFiles: [$values/values/shop.yaml]}}\n" +
			"- {repoURL: https://git.example.com/other, ref: values}\n- {" + fleet +
			", path: plain}\ndestination: {namespace: shop}",
			[]string{`\"from\":\"other\",\"port\":\"other\"`, "name: a", "name: b", `"name": "c"`}},
		{"the last source counts", "sources:\n- {" + fleet + ", path: plain}\n- {" + fleet +
			", path: plain, directory: {exclude: 'a*'}}", []string{"name: a", "name: b", `"name": "c"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := maker(t, c.spec)
			if err != nil || len(docs) != len(c.want) {
				t.Fatalf("got %v, %s", err, texts(docs))
			}
			for i, want := range c.want {
				for part := range strings.SplitSeq(want, "|") {
					if !strings.Contains(normal(t, docs[i]), part) {
						t.Errorf("want %s, got\n%s", part, normal(t, docs[i]))
					}
				}
			}
		})
	}
}

// normal is a document as it stands in the repository, or what a chart made without the namespace that it was given.
func normal(t *testing.T, doc manifest.Built) string {
	t.Helper()
	text := string(doc.Text)
	var o struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Data map[string]string
	}
	if yaml.Unmarshal(doc.Text, &o) == nil && o.Metadata.Namespace == "shop" {
		text += fmt.Sprintf("{name: %s, labels: {in: %s}}\n%q %s", o.Metadata.Name, o.Metadata.Labels["in"],
			o.Data["values"], o.Data["version"])
	}
	return text
}

func texts(docs []manifest.Built) string {
	var out []string
	for _, d := range docs {
		out = append(out, string(d.Text))
	}
	return strings.Join(out, "---\n")
}

func TestImagesAndReplicas(t *testing.T) {
	s := KustomizeSource{Images: []string{"a", "a:v1", "host:5000/a=b:$ARGOCD_APP_NAME", "a@sha256:1",
		"a=host:5000/b@sha256:1"},
		Replicas: []Replica{{"x", []byte("2")}, {"y", []byte(`"3"`)}}}
	got, err := s.change("spec", env{"ARGOCD_APP_NAME": "v2"})
	want := types.Kustomization{Images: []types.Image{{Name: "a"}, {Name: "a", NewTag: "v1"},
		{Name: "host:5000/a", NewName: "b", NewTag: "v2"},
		{Name: "a", Digest: "sha256:1"}, {Name: "a", NewName: "host:5000/b", Digest: "sha256:1"}},
		Replicas: []types.Replica{{Name: "x", Count: 2}, {Name: "y", Count: 3}}}
	if diff := cmp.Diff(want, got.Kustomization); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPositionsOfApplications(t *testing.T) {
	for spec, want := range map[string]string{
		"source: {" + fleet + ", path: plain}": "plain/a.yaml:4:12 plain/a.yaml:9:3 plain/c.json:1:56",
		"source: {" + fleet + ", path: chart}": "chart/templates/m.yaml:0:0",
		"source:\n  " + fleet + "\n  path: overlay\n  kustomize:\n    namespace: new": "overlay/m.yaml:3:12 " +
			"apps/app.yaml:9:7",
		"source: {" + fleet + ", path: overlay}\ndestination: {namespace: elsewhere}": "overlay/m.yaml:3:12",
	} {
		docs, err := maker(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range docs {
			file, line, column := d.Origin.Find(string(d.Text), "metadata.name")
			got = append(got, fmt.Sprintf("%s:%d:%d", file, line, column))
			if strings.Contains(string(d.Text), "namespace: new") {
				file, line, column := d.Origin.Find(string(d.Text), "metadata.namespace")
				got = append(got, fmt.Sprintf("%s:%d:%d", file, line, column))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

func TestApplicationsThatCannotBeMade(t *testing.T) {
	of := func(source string) string { return "source: {" + fleet + ", " + source + "}" }
	for spec, want := range map[string]string{
		"{}":                             "spec: the Application has no source",
		"source: {path: a}":              "spec.source.repoURL: is missing",
		of("ref: x"):                     "",
		of("helm: {}"):                   "spec.source: the source has neither path nor chart",
		of("path: /etc"):                 "spec.source.path: is an absolute path",
		of("path: ../etc"):               "spec.source.path: the folder ../etc is not in the repository",
		of("path: absent"):               "spec.source.path: the folder absent is not in the repository",
		of("path: chart/Chart.yaml"):     "spec.source.path: the folder chart/Chart.yaml is not in the repository",
		of("path: [a]"):                  "spec.source.path: has a value of the wrong type",
		of("path: a, plugin: {name: x}"): `spec.source.plugin: agentry does not run the plugin "x"`,
		of("path: a, helm: {}, kustomize: {}"): "spec.source: the source has more than one of helm, kustomize and " +
			"directory",
		of("path: a, directory: {jsonnet: {libs: [a]}}"): "spec.source.directory.jsonnet: Jsonnet is not evaluated",
		of("path: jsonnet"): "spec.source.path: jsonnet/a.jsonnet is Jsonnet, which is not evaluated",
		of("path: random"): "spec.source: chart random: " +
			"templates/m.yaml: the ServiceMonitor depends on randomness or the time",
		of("path: plain, helm: {releaseName: x}"): "spec.source.path: the " +
			"folder plain holds no chart",
		of("path: plain, kustomize: {namePrefix: x}"):         "the folder has no kustomization",
		of("path: chart, helm: {valueFiles: [x.yaml]}"):       `spec.source.helm.valueFiles[0]: the file "x.yaml" does not exist`,
		of("path: chart, helm: {valueFiles: [../../x.yaml]}"): `spec.source.helm.valueFiles[0]: ../x.yaml leads out of the repository`,
		of("path: chart, helm: {valueFiles: ['x/*.yaml']}"):   `spec.source.helm.valueFiles[0]: the file "x/*.yaml" does not exist`,
		of("path: chart, helm: {valueFiles: ['https://a/b']}"): "spec.source.helm.valueFiles[0]: remote files are " +
			"not read",
		of("path: chart, helm: {valueFiles: [$values/a.yaml]}"): "spec.source.helm.valueFiles[0]: no source has " +
			"the ref values",
		of("path: chart, helm: {valueFiles: [templates/m.yaml]}"): "spec.source.helm.valueFiles: the file " +
			"chart/templates/m.yaml is not a Helm values file",
		of("path: chart, helm: {values: 'hunter2: ['}"): "spec.source.helm.values: " +
			"are not Helm values",
		of("path: chart, helm: {valuesObject: [hunter2]}"): "spec.source.helm.values: " +
			"are not Helm values",
		of("path: chart, helm: {parameters: [{name: 'a[x].b', value: hunter2}]}"):       "spec.source.helm.parameters[0]: it cannot be set",
		of("path: chart, helm: {parameters: [{name: a, value: $ARGOCD_APP_REVISION}]}"): "spec.source.helm.parameters[0]: $ARGOCD_APP_REVISION differs in each commit",
		of("path: chart, helm: {kubeVersion: latest}"):                                  `spec.source.helm.kubeVersion: "latest" is not a Kubernetes version`,
		of("path: chart, helm: {releaseName: " + strings.Repeat("a", 54) +
			"}"): "spec.source.helm.releaseName: the release name",
		of("path: overlay, kustomize: {components: [../absent]}"): `components[0]: "../absent" is not in the repository`,
		of("path: overlay, kustomize: {replicas: [{name: a, count: x}]}"): "spec.source.kustomize.replicas[0].count: " +
			"is not a number",
		"source: {repoURL: https://user:hunter2@elsewhere.example.com/x.git, path: a}": "spec.source.repoURL: " +
			"elsewhere.example.com/x is another repository",
		"sources: [{repoURL: https://elsewhere.example.com/x.git, ref: a}, {" + fleet +
			", path: plain}]": "spec.sources[0].repoURL: elsewhere.example.com/x is another repository",
		"sources: [{" + fleet + ", chart: a, ref: b}]": "spec.sources[0].ref: a chart cannot be referred to",
		"sourceHydrator: {}": "spec.sourceHydrator: Argo CD's source hydrator is not " +
			"supported",
	} {
		docs, err := maker(t, spec)
		failed, ok := errors.AsType[*diag.Diagnostic](err)
		if want == "" && err == nil && len(docs) == 0 {
			continue
		}
		if !ok || !strings.Contains(failed.Problem(), want) || failed.File == "" ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s:\n got %v\nwant %s", spec, err, want)
		}
	}
}

// TestAChartOfARepository: a repository without a scheme is a registry, and so is one of oci://.
func TestAChartOfARepository(t *testing.T) {
	for source, want := range map[string]string{
		"repoURL: https://127.0.0.1:1/charts, chart: shop, targetRevision: 1.x": "spec.source.repoURL: chart shop " +
			"of https://127.0.0.1:1/charts: ",
		"repoURL: '127.0.0.1:1/charts', chart: shop, targetRevision: 1.0.0": "spec.source.repoURL: chart " +
			"oci://127.0.0.1:1/charts/shop: ",
		"repoURL: 'oci://127.0.0.1:1/charts/shop', targetRevision: 1.0.0, path: .": "spec.source.repoURL: chart " +
			"oci://127.0.0.1:1/charts/shop: ",
	} {
		_, err := maker(t, "source: {"+source+"}")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// TestPatterns: one asterisk matches slashes in the patterns of directories and of Git's files, and not in those of
// value files.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern
		text      string
		is, isNot []string
	}{
		{pattern{true, true}, "*.yaml", []string{"a.yaml", "a/b.yaml"}, []string{"a.yml"}},
		{pattern{true, true}, "{a,b*}/[!c]?.yaml", []string{"a/xy.yaml", "bx/d/.yaml"},
			[]string{"a/cx.yaml", "c/xx.yaml"}},
		{pattern{true, false}, "a/**/{x}.json", []string{"a/b/{x}.json", "a//{x}.json"},
			[]string{"a/{x}.json", "a/b/x.json"}},
		{pattern{}, "envs/**/*.yaml", []string{"envs/a.yaml", "envs/b/c/d.yaml"}, []string{"envs/b", "x/a.yaml"}},
		{pattern{}, "envs/*.yaml", []string{"envs/a.yaml"}, []string{"envs/b/a.yaml"}},
		{pattern{}, `a\*[]x^]`, []string{"a*]", "a*x", "a*^"}, []string{"ab]", "a*y"}},
	} {
		e := c.compile(c.text)
		for _, text := range slices.Concat(c.is, c.isNot) {
			if e == nil || e.MatchString(text) != slices.Contains(c.is, text) {
				t.Errorf("%s and %s: %v", c.text, text, e)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("a/**/[!b]{c,d}?\\*", "a/x")
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, p := range []pattern{{}, {true, false}, {true, true}} {
			if e := p.compile(text); e != nil {
				e.MatchString(name)
			}
		}
	})
}
