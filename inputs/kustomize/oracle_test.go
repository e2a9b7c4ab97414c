package kustomize_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// kustomizeItself builds as the program kustomize does, of files in memory.
func kustomizeItself(t *testing.T, files fstest.MapFS, folder string) (string, error) {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	for name, f := range files {
		if err := memory.WriteFile("/"+name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	built, err := krusty.MakeKustomizer(options).Run(memory, "/"+folder)
	if err != nil {
		return "", err
	}
	text, err := built.AsYaml()
	return string(text), err
}

// ours builds with this package.
func ours(files fstest.MapFS, folder string) (string, error) {
	open := func() (tree.Files, func(), error) { return files, func() {}, nil }
	docs, err := kustomize.Build(context.Background(), tree.New(context.Background(), files), folder, open, nil)
	var texts []string
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	return strings.Join(texts, "---\n"), err
}

func files(of map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range of {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestObjectsAreThoseOfKustomize compares with kustomize over random overlays.
func TestObjectsAreThoseOfKustomize(t *testing.T) {
	t.Parallel()
	built := 0
	for seed := range uint64(60) {
		repository := randomRepository(rand.New(rand.NewPCG(seed, 1)))
		want, wantErr := kustomizeItself(t, repository, "top")
		got, err := ours(repository, "top")
		if (wantErr == nil) != (err == nil) {
			t.Errorf("seed %d: kustomize says %v, agentry %v", seed, wantErr, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: other objects (-kustomize +agentry):\n%s", seed, diff)
		}
		if err == nil {
			built++
		}
	}
	if built < 20 {
		t.Errorf("only %d repositories can be built", built)
	}
}

// TestBuildsSideBySide is for the race detector.
func TestBuildsSideBySide(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for seed := range uint64(8) {
		running.Go(func() {
			for n := range uint64(5) {
				repository := randomRepository(rand.New(rand.NewPCG(seed, n)))
				if n == 2 && seed < 2 {
					repository["top/kustomization.yaml"].Data = append(repository["top/kustomization.yaml"].Data, "openapi: {path: ../schema.json}\n"...)
					repository["schema.json"] = &fstest.MapFile{Data: []byte(`{"definitions": {}}`)}
				}
				first, _ := ours(repository, "top")
				if second, _ := ours(repository, "top"); first != second {
					t.Errorf("seed %d %d: two builds differ", seed, n)
				}
			}
		})
	}
	running.Wait()
}

// randomRepository has a kustomization in the folder top that stands on others, and uses anything at random.
func randomRepository(r *rand.Rand) fstest.MapFS {
	out := map[string]string{}
	bases := 1 + r.IntN(3)
	for i := range bases {
		dir := fmt.Sprintf("bases/b%d", i)
		var list []string
		for j := range 1 + r.IntN(3) {
			name := fmt.Sprintf("m%d.yaml", j)
			list = append(list, name)
			out[path.Join(dir, name)] = randomObjects(r, i, j)
		}
		out[path.Join(dir, "kustomization.yaml")] = "resources: [" + strings.Join(list, ", ") + "]\n" + randomFields(r, out, dir)
	}
	out["component/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + randomFields(r, out, "component")
	var list []string
	for i := range bases {
		list = append(list, fmt.Sprintf("../bases/b%d", i))
	}
	out["top/kustomization.yaml"] = "resources: [" + strings.Join(list, ", ") + "]\n" + randomFields(r, out, "top")
	if r.IntN(2) == 0 {
		out["top/kustomization.yaml"] += "components: [../component]\n"
	}
	if r.IntN(4) == 0 {
		out["top/kustomization.yaml"] += "buildMetadata: [originAnnotations, managedByLabel]\n"
	}
	return files(out)
}

func randomObjects(r *rand.Rand, i, j int) string {
	docs := []string{
		fmt.Sprintf("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m%d-%d}\nspec:\n  selector: {matchLabels: {app: x}}\n  endpoints:\n  - port: http\n  - port: other\n    interval: 30s\n", i, j),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d-%d, namespace: own}\ndata:\n  key: \"on\"\n  text: |\n    a\n    b\n", i, j),
		fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d-%d}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: a, image: \"nginx:1\"}\n", i, j),
	}
	return strings.Join(docs[:1+r.IntN(3)], "---\n")
}

func randomFields(r *rand.Rand, out map[string]string, dir string) string {
	all := []string{
		"namespace: team-%d\n", "namePrefix: p%d-\n", "nameSuffix: -s%d\n",
		"labels: [{pairs: {team: \"%d\"}, includeSelectors: true}]\n", "commonAnnotations: {note: \"%d\"}\n",
		"images: [{name: nginx, newTag: \"%d\"}]\n", "configMapGenerator: [{name: made%d, literals: [a=b]}]\n",
		"secretGenerator: [{name: secret%d, files: [key=data.txt]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
		"patches:\n- path: patch%d.yaml\n  target: {kind: ServiceMonitor}\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/more, value: x}\n",
		"replacements:\n- source: {kind: ConfigMap, fieldPath: data.key}\n  targets: [{select: {kind: ServiceMonitor}, fieldPaths: [spec.jobLabel], options: {create: true}}]\n# %d\n",
		"transformers:\n- |-\n  apiVersion: builtin\n  kind: AnnotationsTransformer\n  metadata: {name: t%d}\n  annotations: {more: x}\n  fieldSpecs: [{path: metadata/annotations, create: true}]\n",
	}
	var b strings.Builder
	for i, field := range all {
		if r.IntN(4) != 0 {
			continue
		}
		n := r.IntN(3)
		fmt.Fprintf(&b, field, n)
		switch i {
		case 7:
			out[path.Join(dir, "data.txt")] = "x: y\n"
		case 8:
			out[path.Join(dir, fmt.Sprintf("patch%d.yaml", n))] = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}\nspec: {sampleLimit: 5}\n"
		}
	}
	return b.String()
}
