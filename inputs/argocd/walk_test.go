package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// walked follows the folder argocd. Of each root it returns the name, and the problem or the objects.
func walked(t *testing.T, repository fstest.MapFS, cluster string) []string {
	t.Helper()
	open := func() (tree.Files, func(), error) { return repository, func() {}, nil }
	opts := roots.Options{Open: open, Kustomize: testworker.Kustomize(),
		Charts: &chart.Renderer{Workers: newWorkers(t)}}
	look := func(wanted ...roots.Root) (out [][]roots.Object, err error) {
		for _, r := range wanted {
			docs, err := r.Build(t.Context(), tree.New(t.Context(), repository), opts)
			if _, ok := errors.AsType[*diag.Diagnostic](err); err != nil && !ok {
				return nil, err
			}
			out = append(out, roots.Objects(docs, Follows))
		}
		return out, nil
	}
	w := Walker{Repositories: own(), Cluster: cluster}
	w.Repositories.Folders = map[string]string{"other": "other"}
	found, err := w.Walk(context.Background(), []roots.Root{{Name: "argocd", Make: Entries{"argocd"}}}, look)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range found {
		docs, err := r.Build(t.Context(), tree.New(t.Context(), repository), opts)
		if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
			out = append(out, fmt.Sprintf("%s: %s", r.Name, failed.String()))
			continue
		}
		var objects []string
		for _, o := range roots.Objects(docs, func(_, kind string) bool { return kind != "" }) {
			objects = append(objects, o.Kind+" "+o.Name)
		}
		out = append(out, fmt.Sprintf("%s in %q: %s", r.Name, r.Namespace, strings.Join(objects, ", ")))
	}
	return out
}

const monitorsOf = `
-- apps/shop/base/m.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop}
-- apps/shop/base/kustomization.yaml --
resources: [m.yaml]
-- apps/shop/prod/kustomization.yaml --
resources: [../base]
nameSuffix: -prod
-- apps/shop/staging/kustomization.yaml --
resources: [../base]
nameSuffix: -staging
-- apps/pay/m.yaml --
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: pay}
`

// TestWalks has usual layouts of repositories, and what Argo CD would apply of them.
func TestWalks(t *testing.T) {
	const destination = "destination: {server: https://kubernetes.default.svc, namespace: shop}"
	app := func(name, source string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name +
			", namespace: argocd}\nspec:\n  project: default\n  source: {" + fleet + ", " + source + "}\n  " +
			destination + "\n"
	}
	for _, c := range []struct {
		name, files, cluster string
		want                 []string
	}{
		{name: "app of apps, which lists itself",
			files: "-- argocd/root.yaml --\n" + app("root", "path: argocd, directory: {recurse: true}") +
				"-- argocd/apps/pay.yaml --\n" + app("pay", "path: apps/pay") +
				"-- argocd/apps/shop.yaml --\n" + app("shop", "path: apps/shop/prod") +
				"-- argocd/apps/values.yaml --\nservice: {}\n",
			want: []string{
				`argocd in "": Application pay, Application shop, Application root`,
				`argocd/apps/pay.yaml (Application/argocd/pay) in "shop": PodMonitor pay`,
				`argocd/apps/shop.yaml (Application/argocd/shop) in "shop": ServiceMonitor shop-prod`,
				`argocd/root.yaml (Application/argocd/root) in "shop": Application root, Application pay, Application shop`,
			}},
		{name: "app of apps of a chart",
			files: "-- argocd/root.yaml --\n" +
				app("root", "path: charts/apps, helm: {valuesObject: {apps: [pay, shop/prod]}}") + `
-- charts/apps/Chart.yaml --
apiVersion: v2
name: apps
version: 1.0.0
-- charts/apps/templates/app.yaml --
{{ range .Values.apps }}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: {{ . | replace "/" "-" }}, namespace: argocd}
spec:
  source: {repoURL: https://git.example.com/fleet, path: apps/{{ . }}}
  destination: {name: in-cluster, namespace: {{ . | dir }}}
{{ end }}
`, want: []string{
				`argocd in "": Application root`,
				`argocd/root.yaml (Application/argocd/root) in "shop": Application pay, Application shop-prod`,
				`charts/apps/templates/app.yaml (Application/argocd/pay) in ".": PodMonitor pay`,
				`charts/apps/templates/app.yaml (Application/argocd/shop-prod) in "shop": ServiceMonitor shop-prod`,
			}},
		{name: "an ApplicationSet over folders", files: `
-- argocd/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps, namespace: argocd}
spec:
  generators: [{git: {repoURL: https://git.example.com/fleet, directories: [{path: apps/*}, {path: apps/shop, exclude: true}]}}]
  template:
    metadata: {name: '{{path.basename}}'}
    spec:
      source: {repoURL: https://git.example.com/fleet, path: '{{path}}'}
      destination: {server: https://kubernetes.default.svc, namespace: '{{path.basename}}'}
`, want: []string{
			`argocd in "": ApplicationSet apps`,
			`argocd/set.yaml (Application/argocd/pay) in "pay": PodMonitor pay`,
			`argocd/set.yaml (ApplicationSet/argocd/apps) in "": Application pay`,
		}},
		{name: "an ApplicationSet over clusters", cluster: "https://prod.example.com", files: clusters + matrix,
			want: []string{
				`argocd in "": Cluster prod, Cluster staging, ApplicationSet apps`,
				`argocd/set.yaml (Application/argocd/prod-shop) in "shop": ServiceMonitor shop-prod`,
				`argocd/set.yaml (Application/argocd/staging-shop): argocd/set.yaml:11:7: info[builds-nothing]: spec.destination: it is for another cluster than https://prod.example.com of cluster.name, so it is not built`,
				`argocd/set.yaml (ApplicationSet/argocd/apps) in "": Application prod-shop, Application staging-shop`,
			}},
		{name: "several clusters, and nobody says which", files: clusters + matrix, want: []string{
			`argocd in "": Cluster prod, Cluster staging, ApplicationSet apps`,
			`argocd/set.yaml (Application/argocd/prod-shop): argocd/set.yaml:11:7: error[build-refused]: spec.destination: there are Applications for several clusters: prod, staging`,
			`argocd/set.yaml (Application/argocd/staging-shop): argocd/set.yaml:11:7: error[build-refused]: spec.destination: there are Applications for several clusters: prod, staging`,
			`argocd/set.yaml (ApplicationSet/argocd/apps) in "": Application prod-shop, Application staging-shop`,
		}},
		{name: "clusters that an Application gives", cluster: "prod",
			files: "-- argocd/a.yaml --\n" + app("clusters", "path: clusters") +
				strings.ReplaceAll(clusters, "argocd/clusters", "clusters/a") + matrix, want: []string{
				`argocd in "": Application clusters, ApplicationSet apps`,
				`argocd/a.yaml (Application/argocd/clusters) in "shop": Cluster prod, Cluster staging`,
				`argocd/set.yaml (Application/argocd/prod-shop) in "shop": ServiceMonitor shop-prod`,
				`argocd/set.yaml (Application/argocd/staging-shop): argocd/set.yaml:11:7: info[builds-nothing]: spec.destination: it is for another cluster than prod of cluster.name, so it is not built`,
				`argocd/set.yaml (ApplicationSet/argocd/apps) in "": Application prod-shop, Application staging-shop`,
			}},
		{name: "another repository", files: "-- argocd/a.yaml --\n" +
			strings.Replace(app("a", "path: m"), "fleet.git", "other.git", 1) +
			"-- other/m/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", want: []string{
			`argocd in "": Application a`, `argocd/a.yaml (Application/argocd/a) in "shop": ConfigMap a`,
		}},
		{name: "two with one name", files: "-- argocd/a.yaml --\n" + app("a", "path: apps/pay") +
			"-- argocd/b.yaml --\n" + app("a", "path: apps/shop/prod"), want: []string{
			`argocd in "": Application a, Application a`,
			`argocd/a.yaml (Application/argocd/a) in "shop": PodMonitor pay`,
			`argocd/b.yaml (Application/argocd/a) again: argocd/b.yaml:3:12: error[build-failed]: metadata.name: another one has this name`,
		}},
		{name: "lines that end as on Windows",
			files: "-- argocd/a.yaml --\n" +
				strings.ReplaceAll(app("pay", "path: apps/pay")+"---\n"+app("shop", "path: apps/shop/prod"), "\n",
					"\r\n"), want: []string{
				`argocd in "": Application pay, Application shop`,
				`argocd/a.yaml (Application/argocd/pay) in "shop": PodMonitor pay`,
				`argocd/a.yaml (Application/argocd/shop) in "shop": ServiceMonitor shop-prod`,
			}},
		{name: "what cannot be read", files: "-- argocd/a.yaml --\napiVersion: argoproj.io/v1alpha1\n" +
			"kind: Application\nmetadata: {name: a}\nspec: {source: {repoURL: a, path: [x]}}\n", want: []string{
			`argocd in "": Application a`,
			`argocd/a.yaml (Application/argocd/a): argocd/a.yaml:4:29: error[build-failed]: spec.source.path: has a value of the wrong type`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, walked(t, files(monitorsOf+c.files), c.cluster)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const clusters = `
-- argocd/clusters.yaml --
apiVersion: v1
kind: Secret
metadata: {name: prod, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster, stage: prod}}
stringData: {name: prod, server: https://prod.example.com, config: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: staging, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster, stage: staging}}
stringData: {name: staging, server: https://staging.example.com, config: hunter2}
`

const matrix = `
-- argocd/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps, namespace: argocd}
spec:
  generators: [{matrix: {generators: [{clusters: {selector: {matchExpressions: [{key: stage, operator: Exists}]}}}, {git: {repoURL: https://git.example.com/fleet, directories: [{path: 'apps/*/{{metadata.labels.stage}}'}]}}]}}]
  template:
    metadata: {name: '{{name}}-{{path[1]}}'}
    spec:
      source: {repoURL: https://git.example.com/fleet, path: '{{path}}'}
      # where it goes
      destination: {name: '{{name}}', namespace: '{{path[1]}}'}
`

// If no Application is for the cluster of the pipeline, its name is probably wrong.
func TestNoApplicationForTheCluster(t *testing.T) {
	t.Parallel()
	const app = "-- argocd/app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\n" +
		"metadata: {name: shop, namespace: argocd}\nspec:\n  destination: {name: prod, namespace: shop}\n" +
		"  source: {repoURL: https://git.example.com/org/repo.git, path: apps/shop/prod}\n"
	got := strings.Join(walked(t, files(monitorsOf+app), "prd"), "\n")
	const want = "warning[builds-nothing]: spec.destination: no Application is for the cluster prd of cluster.name; " +
		"this one is for prod"
	if !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// Applications for other clusters than that of the pipeline are counted, at the first one.
func TestApplicationsForOtherClustersAreCounted(t *testing.T) {
	t.Parallel()
	apps := monitorsOf
	for _, cluster := range []string{"dev", "prod", "staging"} {
		apps += "-- argocd/" + cluster + ".yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\n" +
			"metadata: {name: shop-" + cluster + ", namespace: argocd}\nspec:\n  destination: {name: " + cluster +
			", namespace: shop}\n  source: {repoURL: https://git.example.com/fleet, path: apps/shop/prod}\n"
	}
	got := strings.Join(walked(t, files(apps), "prod"), "\n")
	const want = "info[builds-nothing]: spec.destination: it is for another cluster than prod of cluster.name, so it is " +
		"not built; the same goes for 1 more"
	if !strings.Contains(got, want) || strings.Count(got, "builds-nothing") != 1 {
		t.Errorf("got %s", got)
	}
}

func TestClustersThatNobodyKnows(t *testing.T) {
	for name, c := range map[string]struct{ files, want string }{
		"encrypted": {strings.ReplaceAll(clusters, "{name: prod, server", "{name: 'ENC[AES256_GCM,data:x]', server"),
			"cluster Secret argocd/prod (argocd/clusters.yaml) is encrypted"},
		"absent": {"", "the inputs have no cluster Secret"},
	} {
		if got := strings.Join(walked(t, files(monitorsOf+c.files+matrix), ""), "\n"); !strings.Contains(got, c.want) ||
			strings.Contains(got, "hunter2") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestAPathThatHoldsTooMuch: this is a finding at the path, and no error of the whole walk.
func TestAPathThatHoldsTooMuch(t *testing.T) {
	repository := fstest.MapFS{}
	for i := range 50 {
		repository[fmt.Sprintf("argocd/%d.yaml",
			i)] = &fstest.MapFile{Data: []byte("a: b\n# " + strings.Repeat("x", 3_000_000))}
	}
	got := walked(t, repository, "")
	if len(got) != 1 || !strings.HasPrefix(got[0], "argocd: argocd: error[build-failed]: the build reads too much") {
		t.Errorf("got %q", got)
	}
}

// TestCirclesEnd: each Application leads to another one.
func TestCirclesEnd(t *testing.T) {
	got := walked(t, files(`
-- argocd/a.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a, namespace: argocd}
spec:
  source: {repoURL: https://git.example.com/fleet, path: chart}
  destination: {name: in-cluster, namespace: argocd}
-- chart/Chart.yaml --
apiVersion: v2
name: a
version: 1.0.0
-- chart/templates/a.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: {{ .Release.Name }}a, namespace: argocd}
spec:
  source: {repoURL: https://git.example.com/fleet, path: chart}
  destination: {name: in-cluster, namespace: argocd}
`), "")
	ends := slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, "without end") })
	const mayRepeat = 4
	if len(got) != mayRepeat+2 || len(ends) != 1 {
		t.Errorf("%d roots, and %q", len(got), ends)
	}
}
