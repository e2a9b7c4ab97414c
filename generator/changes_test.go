package generator_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

// pipelineFile is the file of a scenario with the patches and images of a pipeline.
const pipelineFile = "pipeline.yaml"

// changeFields are the fields of pipelines that change objects.
type changeFields struct {
	Workloads []patch.Settings `json:"workloads"`
	Patches   []patch.Patch    `json:"patches"`
	Images    []patch.Image    `json:"images"`
}

// fixtureChanges match objects of random fixtures, some of which they break.
var fixtureChanges = []byte(`
patches:
  - target: {kind: StatefulSet, name: web.*}
    patch: "- {op: add, path: /spec/template/spec/priorityClassName, value: high}"
  - target: {name: s1-x}
    patch: "- {op: replace, path: /spec/replicas, value: 3}"
  - target: {labelSelector: operated-agent}
    patch: "- {op: add, path: /metadata/labels/team, value: core}"
  - target: {kind: Secret}
    patch: "- {op: add, path: /metadata/labels, value: {team: core}}"
images:
  - {name: grafana/agent, newName: registry.example.com/agent}
`)

// changesIn reads the fields of a pipeline. The place of each item is the line on which it begins, which is that of a
// dash below the name of its list.
func changesIn(t testing.TB, text []byte) *patch.Changes {
	t.Helper()
	var fields changeFields
	if err := yaml.UnmarshalStrict(text, &fields); err != nil {
		t.Fatal(err)
	}
	places, list, items := map[string]patch.Place{}, "", 0
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			list, items = strings.TrimSuffix(line, ":"), 0
		case strings.HasPrefix(line, "  - "):
			places[fmt.Sprintf("%s[%d]", list, items)] = patch.Place{File: pipelineFile, Line: i + 1, Column: 5}
			items++
		}
	}
	changes, wrong := patch.New(patch.All(fields), func(field string) patch.Place { return places[field] })
	if len(wrong) > 0 {
		t.Fatal(wrong[0])
	}
	return changes
}

// TestChangesAreKustomizes: what the patches and images of a scenario make of its objects is what kustomize makes of
// what is rendered without them.
func TestChangesAreKustomizes(t *testing.T) {
	names, err := filepath.Glob("testdata/patches*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	compared := 0
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var results []manifest.Result
		var fields []byte
		for _, f := range archive.Files {
			if file, ok := strings.CutPrefix(f.Name, "in/"); ok {
				results = append(results, manifest.Parse(manifest.File{Path: file, Data: f.Data}, manifest.Options{}))
			} else if f.Name == pipelineFile {
				fields = f.Data
			}
		}
		opts := scenarioOptions(t, string(archive.Comment))
		plain := renderAll(results, opts)
		opts.Changes = changesIn(t, fields)
		changed := renderAll(results, opts)
		if len(changed.Diags) > 0 || strings.Contains(string(fields), "workloads:") {
			continue // kustomize does not judge what Kubernetes refuses, and stops where nothing matches
		}
		compared++
		want, err := kustomized(t, plain, fields)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, objects(t, changed)); diff != "" {
			t.Errorf("%s (-kustomize +agentry):\n%s", name, diff)
		}
		if diff := cmp.Diff(objects(t, plain), objects(t, changed)); diff == "" {
			t.Errorf("%s changes nothing", name)
		}
	}
	if compared == 0 {
		t.Error("no scenario was compared")
	}
}

// kustomized returns the objects of an output as kustomize changes them.
func kustomized(t *testing.T, out *generator.Output, fields []byte) (map[string]any, error) {
	t.Helper()
	files := filesys.MakeFsInMemory()
	kustomization := []byte("resources:\n")
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Object.Kind == "" {
				continue
			}
			name := strings.ReplaceAll(u.Name, "/", "_") + f.Path
			kustomization = append(kustomization, "- "+name+"\n"...)
			if err := files.WriteFile("/"+name, f.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := files.WriteFile("/kustomization.yaml", append(kustomization, fields...)); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if workload.IsWorkload(r.GetKind()) { // Kubernetes' types write some empty fields
			fields, err := workload.Fields(workload.Workload(r.GetKind(), nil, text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = yaml.Marshal(fields); err != nil {
				t.Fatal(err)
			}
		}
		all[r.GetKind()+"/"+r.GetNamespace()+"/"+r.GetName()] = decoded(t, text)
	}
	return all, nil
}

// objects returns the objects of an output.
func objects(t *testing.T, out *generator.Output) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Object.Kind != "" {
				all[f.Object.Kind+"/"+f.Object.Namespace+"/"+f.Object.Name] = decoded(t, f.Data)
			}
		}
	}
	return all
}

func decoded(t *testing.T, text []byte) (out any) {
	t.Helper()
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestChangesThatChangeNothingKeepTheBytes renders all scenarios with patches that change nothing: what is written anew
// is written as it was, and nothing else is found.
func TestChangesThatChangeNothingKeepTheBytes(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	nothing := changesIn(t, []byte(`
patches:
  - target: {}
    patch: "- {op: test, path: /metadata/annotations/kustomize.toolkit.fluxcd.io~1substitute, value: disabled}"
  - target: {}
    patch: "{apiVersion: v1, kind: Any, metadata: {name: any}}"
images:
  - {name: "grafana/a.*", newName: "grafana/agent"}
`))
	written := 0
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		opts := scenarioOptions(t, string(archive.Comment))
		var results []manifest.Result
		for _, f := range archive.Files {
			if file, ok := strings.CutPrefix(f.Name, "in/"); ok {
				results = append(results, manifest.Parse(manifest.File{Path: file, Data: f.Data},
					manifest.Options{Compatibility: opts.Compatibility}))
			}
		}
		plain := renderAll(results, opts)
		opts.Changes = nothing
		same := renderAll(results, opts)
		same.Diags = slices.DeleteFunc(same.Diags, func(d diag.Diagnostic) bool {
			return d.Code == diag.PatchMatchesNothing
		})
		if diff := cmp.Diff(plain.Diags, same.Diags); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i, u := range plain.Units {
			if u.Runtime == "alloy" {
				continue // it has another image
			}
			for n, f := range u.Files {
				written++
				if got := same.Units[i].Files[n]; !bytes.Equal(got.Data, f.Data) {
					t.Errorf("%s: %s: %s", name, f.Path, cmp.Diff(string(f.Data), string(got.Data)))
				}
			}
		}
	}
	if written == 0 {
		t.Error("nothing was compared")
	}
}

// TestPodsKeepTheirIdentity holds that settings cannot take away by which pods know what is theirs: every variable that
// runtimes set, but those that only say how a program was deployed.
func TestPodsKeepTheirIdentity(t *testing.T) {
	pod := runtimes.Pod{Zone: "z"}
	env := runtimes.ZoneEnv(pod)
	for _, pod.Kind = range []secretref.Group{secretref.Metrics, secretref.Logs, secretref.Deployment,
		secretref.DaemonSet} {
		env = append(env, runtimes.Env(pod)...)
	}
	for _, v := range env {
		value := []any{map[string]any{"name": v.Name, "value": "x"}}
		_, wrong := patch.New(patch.All{Workloads: []patch.Settings{{Env: value}}}, func(string) patch.Place {
			return patch.Place{}
		})
		if isRefused := len(wrong) > 0; isRefused == strings.HasSuffix(v.Name, "_DEPLOY_MODE") {
			t.Errorf("%s: %v", v.Name, wrong)
		}
	}
}
