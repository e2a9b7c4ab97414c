package inputs_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// What gives nothing is a warning that says why. Objects of kinds that are not read are something.
func TestWhatGivesNothingIsAWarning(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	const deleting = "path: ./apps\npatches: [{patch: '{$patch: delete, apiVersion: v1, kind: ConfigMap, " +
		"metadata: {name: a}}'}]"
	for name, c := range map[string]struct{ files, want string }{
		"patches of the Kustomization": {"-- apps/a.yaml --\n" + config + kustomization("apps", deleting),
			"patches delete all objects of the folder apps\n"},
		"a folder without manifests": {"-- apps/readme.md --\n", "there is no manifest in the folder apps\n"},
		"an empty kustomization": {"-- apps/kustomization.yaml --\nnamePrefix: a-\n",
			"apps/kustomization.yaml gives no object\n"},
		"an empty list": {"-- apps/kustomization.yaml --\nresources: []\n",
			"apps/kustomization.yaml gives no object\n"},
		"empty lists": {"-- apps/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\n" +
			"kind: Kustomization\nresources: []\npatches: []\ncommonLabels: {}\n",
			"apps/kustomization.yaml gives no object\n"},
		"hidden manifests": {"-- apps/a.yaml --\n" + config + "-- .sourceignore --\n/*\n!/clusters\n",
			"the folder apps gives no object: its only manifest is hidden by .sourceignore:1\n"},
		"hidden manifests of two files": {"-- apps/a.yaml --\n" + config + "-- apps/b/c.yaml --\n" + config +
			"-- apps/.sourceignore --\n/a.yaml\n-- .sourceignore --\n/apps/b\n",
			"the folder apps gives no object: its 2 manifests are hidden by .sourceignore:1 and apps/.sourceignore:1\n"},
		"another kind": {"-- apps/a.yaml --\n" + config, ""},
		"an unmanaged one": {"-- apps/a.yaml --\n" + strings.Replace(config, "{name: a}",
			"{name: a, annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}", 1),
			"Flux applies no object of the folder apps: the annotations kustomize.toolkit.fluxcd.io/reconcile: disabled " +
				"and ssa: Ignore exclude all\n"},
		"patches that delete all": {"-- apps/a.yaml --\n" + config + "-- apps/kustomization.yaml --\n" +
			"resources: [a.yaml]\npatches:\n- patch: |\n    $patch: delete\n    " +
			strings.ReplaceAll(config, "\n", "\n    ") + "\n",
			"apps/kustomization.yaml gives no object: its patches delete all objects, or its resources have none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := applied(t, fluxSearch(archive(sync[:strings.Index(sync, "-- apps/")]+
				kustomization("apps", "path: ./apps")+c.files), "clusters/prod"))
			_, warning, _ := strings.Cut(got, "warning[builds-nothing]: spec.path: ")
			warning, _, _ = strings.Cut(warning, "\n  ")
			if warning != c.want {
				t.Errorf("got %q, want %q in\n%s", warning, c.want, got)
			}
		})
	}
}

func TestAnApplicationThatGivesNothingIsAWarning(t *testing.T) {
	t.Parallel()
	const set = "-- argocd/set.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n" +
		"metadata: {name: all, namespace: argocd}\nspec:\n  generators: [{list: {elements: []}}]\n" +
		"  template: {metadata: {name: a}, spec: {}}\n"
	const app = "-- argocd/app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\n" +
		"metadata: {name: shop, namespace: argocd}\nspec:\n  destination: {name: in-cluster, namespace: shop}\n" +
		"  source: {repoURL: https://git.example.com/org/fleet.git, path: apps, FIELD}\n"
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct{ files, want string }{
		"folders below": {app + "-- apps/shop/a.yaml --\n" + config,
			"spec.source.path: there is no manifest in the folder apps itself"},
		"an empty list": {app + "-- apps/kustomization.yaml --\nresources: []\n",
			"spec.source.path: apps/kustomization.yaml gives no object"},
		"read with recurse": {strings.Replace(app, "FIELD", "directory: {recurse: true}", 1) +
			"-- apps/shop/a.yaml --\n" + config, ""},
		"hidden": {app + "-- apps/a.yaml --\n" + config + "-- apps/.sourceignore --\n*\n",
			"spec.source.path: the folder apps gives no object: its only manifest is hidden by apps/.sourceignore"},
		"YAML that is no object": {app + "-- apps/values.yaml --\nreplicas: 2\n",
			"spec.source.path: no YAML in the folder apps is a Kubernetes object"},
		"left out by directory.exclude": {strings.Replace(app, "FIELD", "directory: {exclude: '*.yaml'}", 1) +
			"-- apps/a.yaml --\n" + config,
			"argocd/app.yaml:6:84: warning[builds-nothing]: spec.source.directory.exclude: all files of the folder " +
				"apps are left out by exclude, such as apps/a.yaml"},
		"not in directory.include": {strings.Replace(app, "FIELD", "directory: {include: a/*, exclude: b}", 1) +
			"-- apps/a.yaml --\n" + config,
			"spec.source.directory.include: all files of the folder apps are left out by include and exclude"},
		"YAML that is no object, and what is left out": {strings.Replace(app, "FIELD", "directory: {include: v*}", 1) +
			"-- apps/a.yaml --\n" + config + "-- apps/values.yaml --\nreplicas: 2\n",
			"spec.source.directory.include: no YAML in the folder apps is a Kubernetes object, besides what is " +
				"left out by include"},
		"only hooks": {app + "-- apps/a.yaml --\n" + strings.Replace(config, "{name: a}",
			"{name: a, annotations: {argocd.argoproj.io/hook: PreSync}}", 1),
			"spec: all its objects are hooks, which are left out: they do not stay in the cluster"},
		"no Application": {set, "spec.generators: the generators give no Application"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := archive(strings.ReplaceAll(c.files, ", FIELD", "") + "-- apps/x.txt --\n")
			if strings.Contains(c.files, "directory: ") {
				files = archive(c.files)
			}
			open := func() (tree.Files, func(), error) { return files, func() {}, nil }
			got, _ := applied(t, inputs.Search{Files: files, Paths: []string{"argocd"}, Mode: inputs.ArgoCD,
				Options: roots.Options{Open: open,
					Repositories: roots.Repositories{URL: "https://git.example.com/org/fleet.git"}}})
			if !strings.Contains(got, c.want) || strings.Contains(got, "builds-nothing") != (c.want != "") {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		})
	}
}

// A path without an Application and without a kustomization leads to nothing, unless an Application names it.
func TestAPathThatNoApplicationNamesIsAWarning(t *testing.T) {
	t.Parallel()
	const monitors = "-- apps/m.yaml --\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
		"metadata: {name: shop}\nspec: {selector: {}, endpoints: [{port: web}]}\n"
	const app = "-- argocd/app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\n" +
		"metadata: {name: shop, namespace: argocd}\nspec:\n  destination: {name: in-cluster, namespace: shop}\n" +
		"  source: {repoURL: https://git.example.com/org/fleet.git, path: PATH}\n"
	const config = "-- other/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		files  string
		isRead bool
	}{
		"no Application":  {strings.Replace(app, "PATH", "other", 1) + monitors, false},
		"an Application":  {strings.Replace(app, "PATH", "apps", 1) + monitors, true},
		"a kustomization": {app + monitors + "-- apps/kustomization.yaml --\nresources: [m.yaml]\n", true},
		"nothing that is read": {app + strings.NewReplacer("other/", "apps/", "ConfigMap", "Other").Replace(config),
			true},
		"an Application in there": {
			monitors + strings.NewReplacer("argocd/app", "apps/app", "PATH", "other").Replace(app), true},
	} {
		files := archive(c.files + config)
		open := func() (tree.Files, func(), error) { return files, func() {}, nil }
		got, _ := applied(t, inputs.Search{Files: files, Paths: []string{"argocd", "apps"}, Mode: inputs.ArgoCD,
			Options: roots.Options{Open: open, Kustomize: testworker.Kustomize(),
				Repositories: roots.Repositories{URL: "https://git.example.com/org/fleet.git"}}})
		const want = "warning[builds-nothing]: its objects are not read, as no Application leads to them: 1 of " +
			"kinds that agentry reads"
		if strings.Contains(got, want) == c.isRead {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}
