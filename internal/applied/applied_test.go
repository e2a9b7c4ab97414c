package applied

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/inputs/tree"
)

// TestFind: each case is a repository, the files that tools apply, and those that they do not apply.
func TestFind(t *testing.T) {
	const bootstrap = `-- clusters/prod/flux-system/gotk-sync.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "ssh://git@git.example.com/fleet", ref: {branch: main}, secretRef: {name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/prod, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const application = `-- apps/shop.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {source: {repoURL: "https://git.example.com/fleet.git", path: shop%s}}
`
	const set = `-- apps/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators:
    - matrix:
        generators:
          - git: {repoURL: "https://git.example.com/fleet", directories: [{path: clusters/*}, {path: clusters/old, exclude: true}]}
          - clusters: {}
  template: {spec: {source: {repoURL: "https://git.example.com/fleet", path: "{{ .path.path }}", directory: {recurse: true}}}}
`
	for name, test := range map[string]struct {
		files        string
		by           []string
		applies, not []string
	}{
		"what flux bootstrap writes": {files: bootstrap, by: []string{"Kustomization/flux-system/flux-system"},
			applies: []string{"clusters/prod/a.yaml", "clusters/prod/monitoring/a.yaml"},
			not:     []string{"a.yaml", "clusters/production/a.yaml"}},
		"the whole repository": {files: strings.Replace(bootstrap, "./clusters/prod", "./", 1),
			by: []string{"Kustomization/flux-system/flux-system"}, applies: []string{"a.yaml", "clusters/edge/a.yaml"}},
		"a kustomization at the top names files": {
			files: bootstrap + "-- clusters/prod/kustomization.yaml --\nresources: [flux-system/gotk-sync.yaml, b.yaml]\n" +
				"-- clusters/prod/b.yaml --\na: 1\n",
			by:      []string{"Kustomization/flux-system/flux-system"},
			applies: []string{"clusters/prod/b.yaml"}, not: []string{"clusters/prod/a.yaml"}},
		"a kustomization below names files": {
			files:   bootstrap + "-- clusters/prod/apps/kustomization.yaml --\nresources: [b.yaml]\n-- clusters/prod/apps/b.yaml --\na: 1\n",
			by:      []string{"Kustomization/flux-system/flux-system"},
			applies: []string{"clusters/prod/apps/b.yaml", "clusters/prod/a.yaml"}, not: []string{"clusters/prod/apps/a.yaml"}},
		"another branch": {files: strings.Replace(bootstrap, "main", "environments/prod", 1)},
		"another repository": {
			files: strings.Replace(bootstrap, "fleet", "apps", 1)},
		"a source that only the cluster knows": {
			files: "-- a.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
				"metadata: {name: apps, namespace: apps}\nspec: {path: apps, sourceRef: {kind: GitRepository, name: apps}}\n"},
		"an instance of the Flux Operator": {
			files: "-- flux.yaml --\napiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n" +
				"metadata: {name: flux, namespace: flux-system}\nspec: {sync: {kind: GitRepository, " +
				"url: \"https://git.example.com/fleet.git\", ref: refs/heads/main, path: clusters/prod}}\n",
			by: []string{"FluxInstance/flux-system/flux"}, applies: []string{"clusters/prod/a.yaml"}},
		"an Application reads one folder": {files: strings.Replace(application, "%s", "", 1),
			by: []string{"Application/argocd/shop"}, applies: []string{"shop/a.yaml"}, not: []string{"shop/b/a.yaml"}},
		"an Application reads folders below": {
			files: strings.Replace(application, "%s", ", directory: {recurse: true}", 1),
			by:    []string{"Application/argocd/shop"}, applies: []string{"shop/a.yaml", "shop/b/a.yaml"}},
		"an Application that leaves files out": {
			files: strings.Replace(application, "%s", ", directory: {exclude: '*.yaml'}", 1)},
		"an Application of a chart": {
			files: strings.Replace(application, "%s", "", 1) + "-- shop/Chart.yaml --\nname: shop\n",
			by:    []string{"Application/argocd/shop"}, not: []string{"shop/a.yaml"}},
		"an ApplicationSet": {files: set, by: []string{"ApplicationSet/all"},
			applies: []string{"clusters/edge/a.yaml", "clusters/edge/b/a.yaml"},
			not:     []string{"clusters/old/a.yaml", "clusters/a.yaml", "a.yaml"}},
		"templates of charts are no manifests": {
			files: "-- chart/templates/a.yaml --\n{{ if .Values.argo }}\napiVersion: argoproj.io/v1alpha1\n{{ end }}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			for _, f := range txtar.Parse([]byte(test.files)).Files {
				file := filepath.Join(top, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, f.Data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			found, err := Repository{Files: os.DirFS(top).(tree.Files), Branch: "main",
				URLs: []string{"git@git.example.com:fleet.git"}}.Find()
			if err != nil {
				t.Fatal(err)
			}
			var by []string
			for _, f := range found {
				by = append(by, f.By)
			}
			if !slices.Equal(by, test.by) {
				t.Errorf("applied by %q, want %q", by, test.by)
			}
			applies := func(name string) bool {
				return slices.ContainsFunc(found, func(f Folder) bool { return f.Applies(name) })
			}
			for _, name := range test.applies {
				if !applies(name) {
					t.Errorf("%s is not applied", name)
				}
			}
			for _, name := range test.not {
				if applies(name) {
					t.Errorf("%s is applied", name)
				}
			}
		})
	}
}
