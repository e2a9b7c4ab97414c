package roots_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

func files(list map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range list {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// written is an origin: each field is in the file.
type written string

func (w written) Find(_, path string) (string, int, int) { return string(w) + "#" + path, 1, 0 }

func by() *roots.CustomResource {
	return &roots.CustomResource{Object: diag.Object{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"},
		Built: manifest.Built{Origin: written("apps.yaml")}, Prefix: "spec.",
		Fields: map[string]string{"namespace": "targetNamespace"}}
}

func build(t *testing.T, repository fstest.MapFS, r roots.Root) (text string, docs []manifest.Built, err error) {
	t.Helper()
	open := func() (tree.Files, func(), error) { return repository, func() {}, nil }
	docs, err = r.Build(context.Background(), tree.New(context.Background(), repository),
		roots.Options{Open: open, Kustomize: testworker.Kustomize()})
	if failed, ok := errors.AsType[*diag.Diagnostic](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		return failed.String(), nil, err
	}
	var texts []string
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	return strings.Join(texts, "---\n"), docs, nil
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  template:
    spec:
      containers: [{name: app, image: "shop:v1"}]
`

func TestChangesAreThoseOfKustomizeController(t *testing.T) {
	t.Parallel()
	const folder = "resources: [app.yaml]\nnamespace: own\nnamePrefix: own-\n" +
		"images: [{name: shop, newName: mine, newTag: v2}]\n"
	for name, c := range map[string]struct {
		change              kustomize.Change
		labels, annotations map[string]string
		want                string
	}{
		"nothing": {want: `apiVersion: apps/v1
kind: Deployment
metadata:
  name: own-app
  namespace: own
spec:
  template:
    spec:
      containers:
      - image: mine:v2
        name: app
`},
		"everything": {
			change: kustomize.Change{Kustomization: types.Kustomization{
				Namespace: "team", NamePrefix: "p-", NameSuffix: "-s",
				Images:     []types.Image{{Name: "shop", Digest: "sha256:1"}},
				Components: []string{"../part"},
				Patches: []types.Patch{{Patch: "- {op: add, path: /spec/replicas, value: 3}",
					Target: &types.Selector{}}},
			}},
			labels: map[string]string{"team": "a"}, annotations: map[string]string{"note": "b"},
			want: `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    note: b
    part: "true"
  labels:
    team: a
  name: p-app-s
  namespace: team
spec:
  replicas: 3
  template:
    metadata:
      annotations:
        part: "true"
    spec:
      containers:
      - image: mine@sha256:1
        name: app
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository := files(map[string]string{"app/kustomization.yaml": folder, "app/app.yaml": deployment,
				"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
					"commonAnnotations: {part: \"true\"}\n"})
			got, _, _ := build(t, repository,
				roots.Root{Folder: "app", Change: c.change, Labels: c.labels, Annotations: c.annotations,
					RequestedBy: by()})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFolderWithoutAKustomizationGivesAllItsManifests(t *testing.T) {
	t.Parallel()
	object := func(name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
	}
	repository := files(map[string]string{
		"app/a.yaml": object("a"), "app/deep/er/b.yml": object("b"), "app/note.txt": "text",
		"app/values.yaml":             "kind: of\n",
		"app/base/kustomization.yaml": "resources: [c.yaml]\nnameSuffix: -base\n", "app/base/c.yaml": object("c"),
		"app/base/unlisted.yaml":     object("unlisted"),
		"app/chart/Chart.yaml":       "apiVersion: v2\nkind: Chart",
		"app/chart/templates/x.yaml": "apiVersion: v1\nkind: {{ x }}\n", "app/.github/x.yaml": object("hidden"),
	})
	got, _, _ := build(t, repository,
		roots.Root{Folder: "app", Generate: &kustomize.Generate{},
			Change: kustomize.Change{Kustomization: types.Kustomization{NamePrefix: "p-"}}, RequestedBy: by()})
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "
	if diff := cmp.Diff(one+"p-a\n---\n"+one+"p-c-base\n---\n"+one+"p-b\n", got); diff != "" {
		t.Error(diff)
	}
	only, _, _ := build(t, repository,
		roots.Root{Folder: "app", Generate: &kustomize.Generate{File: "a.yaml"}, RequestedBy: by()})
	if diff := cmp.Diff(one+"a\n", only); diff != "" {
		t.Error(diff)
	}
	if empty, _, _ := build(t, files(map[string]string{"app/x.txt": ""}),
		roots.Root{Folder: "app", Generate: &kustomize.Generate{}, RequestedBy: by()}); !strings.Contains(empty,
		"warning[builds-nothing]: spec.path: there is no manifest in the folder app") {
		t.Errorf("an empty folder gives %s", empty)
	}
}

func TestAnErrorIsAtTheFileToBlame(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"app/kustomization.yaml": "resources: [app.yaml]\n",
		"app/app.yaml":              deployment,
		"broken/kustomization.yaml": "resources: [app.yaml]\npatches: [{patch: \"{kind: X, metadata: {name: x}}\"}]\n",
		"broken/app.yaml":           deployment,
		"plain/a.yaml":              deployment, "plain/b.yaml": deployment})
	patch := kustomize.Change{
		Kustomization: types.Kustomization{
			Patches: []types.Patch{{Patch: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n"}}}}
	for name, c := range map[string]struct {
		root roots.Root
		want string
	}{
		"the folder is missing": {roots.Root{Folder: "other"},
			"apps.yaml#spec.path:1: error[build-failed]: spec.path: the folder other is not in the repository"},
		"a component is missing": {roots.Root{Folder: "app",
			Change: kustomize.Change{Kustomization: types.Kustomization{Components: []string{"../none"}}}},
			`apps.yaml#spec.components[0]:1: error[build-failed]: components[0]: "../none" is not in the repository, or is hidden by a .sourceignore`},
		"its patch fits nothing": {roots.Root{Folder: "app", Change: patch},
			"apps.yaml#:1: error[build-failed]: a patch targets ConfigMap.v1/none, which does not exist"},
		"the folder's own patch": {roots.Root{Folder: "broken",
			Change: kustomize.Change{Kustomization: types.Kustomization{NamePrefix: "p-"}}},
			"broken/kustomization.yaml:2:11: error[build-failed]: patches[0]: a patch targets X/x, which does not exist"},
		"a folder without any": {roots.Root{Folder: "plain", Generate: &kustomize.Generate{}},
			"plain/b.yaml:1:1: error[build-failed]: contains Deployment.v1.apps/app twice: at plain/a.yaml:1 and at " +
				"plain/b.yaml:1"},
		"what the custom resource has": {roots.Root{Folder: "app",
			Problem: new(diag.BuildRefused.At("spec.kubeConfig", "no"))},
			"apps.yaml#spec.kubeConfig:1: error[build-refused]: spec.kubeConfig: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.root.RequestedBy = by()
			got, _, err := build(t, repository, c.root)
			if diff := cmp.Diff(c.want, got); diff != "" || err == nil {
				t.Error(diff, err)
			}
		})
	}
	ignoring := roots.Root{Folder: "app",
		Change: kustomize.Change{Kustomization: types.Kustomization{Components: []string{"../none"}},
			IgnoreMissing: true}, RequestedBy: by()}
	if _, _, err := build(t, repository, ignoring); err != nil {
		t.Errorf("a component may be missing: %v", err)
	}
}

func TestAFieldIsFoundWhereTheCustomResourceSetsIt(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"app/kustomization.yaml": "resources: [app.yaml]\n",
		"app/app.yaml": deployment})
	change := kustomize.Change{Kustomization: types.Kustomization{Namespace: "team",
		Patches: []types.Patch{
			{Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {replicas: 3}\n"}}}}
	_, docs, _ := build(t, repository, roots.Root{Folder: "app", Change: change, RequestedBy: by()})
	for field, want := range map[string]string{"spec.replicas": "apps.yaml#spec.patches[0]",
		"metadata.namespace": "apps.yaml#spec.targetNamespace", "metadata.name": "app/app.yaml"} {
		if file, _, _ := docs[0].Origin.Find(string(docs[0].Text), field); file != want {
			t.Errorf("%s is in %s, not %s", field, file, want)
		}
	}
}

func TestEqualRootsAreTheSame(t *testing.T) {
	t.Parallel()
	a, b := roots.Root{Folder: "app", RequestedBy: by()}, roots.Root{Folder: "app", RequestedBy: by()}
	b.RequestedBy.Origin = nil
	if !a.Same(b) {
		t.Error("equal roots differ")
	}
	b.Change.NamePrefix = "p-"
	if a.Same(b) {
		t.Error("another prefix is the same")
	}
}
