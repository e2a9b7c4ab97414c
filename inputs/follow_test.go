package inputs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	gosync "sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/internal/flux"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// archive reads a repository.
func archive(text string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		out[f.Name] = &fstest.MapFile{Data: bytes.TrimSuffix(f.Data, []byte("\n"))}
	}
	return out
}

func fluxSearch(files fstest.MapFS, paths ...string) inputs.Search {
	open := func() (tree.Files, func(), error) { return files, func() {}, nil }
	return inputs.Search{Files: files, Paths: paths, Mode: inputs.Flux,
		Options: roots.Options{Open: open, Kustomize: testworker.Kustomize(),
			Repositories: roots.Repositories{URL: "https://git.example.com/org/fleet.git"}}}
}

// applied finds all roots and lists what they give.
func applied(t *testing.T, s inputs.Search) (string, *inputs.Layout) {
	t.Helper()
	layout, err := s.Find(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range layout.All() {
		built, err := inputs.Build(context.Background(), s.Files, r,
			inputs.Options{Manifest: manifest.Options{}, Options: s.Options, Builds: s.Builds})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, r.Name)
		for _, o := range built.Result.Objects {
			file, line, _ := o.Written()
			fmt.Fprintf(&out, "  %s of %s:%d %v", o.ID, file, line, o.Labels.Map())
			if m, ok := o.Value().(*monitoringv1.ServiceMonitor); ok {
				out.WriteString(" " + m.Spec.JobLabel)
			}
			out.WriteString("\n")
		}
		for _, d := range built.Result.Diags {
			fmt.Fprintf(&out, "  %s\n", d)
		}
	}
	return out.String(), layout
}

const sync = `
-- clusters/prod/flux-system/kustomization.yaml --
resources: [gotk-sync.yaml]
-- clusters/prod/flux-system/gotk-sync.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: ssh://git@git.example.com/org/fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/prod, sourceRef: {kind: GitRepository, name: flux-system}}
-- apps/kustomization.yaml --
resources: [monitor.yaml]
-- apps/monitor.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop}
spec: {jobLabel: "${CLUSTER:=none}", selector: {}, endpoints: [{port: web}]}
`

// kustomization is a Kustomization of Flux in a file of the cluster.
func kustomization(name, more string) string {
	return fmt.Sprintf("-- clusters/prod/%s.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\n"+
		"kind: Kustomization\nmetadata: {name: %s, namespace: flux-system}\nspec:\n"+
		"  sourceRef: {kind: GitRepository, name: flux-system}\n  %s\n",
		name, name, strings.ReplaceAll(more, "\n", "\n  "))
}

func TestFluxKustomizationsAreFollowed(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\n" +
		"data: {CLUSTER: prod}\n"
	secret := strings.NewReplacer("ConfigMap", "Secret", "data: {CLUSTER: prod}",
		"stringData: {CLUSTER: hunter22}").Replace(config)
	substituted := kustomization("apps",
		"path: ./apps\ntargetNamespace: shop\npostBuild: {substituteFrom: [{kind: ConfigMap, name: vars}, {kind: "+
			"Secret, name: vars, optional: true}]}")
	const own = "clusters/prod\n"
	const vars = "  ConfigMap/flux-system/vars of clusters/prod/vars.yaml:1 map[]\n"
	const apps = "clusters/prod/apps.yaml (Kustomization/flux-system/apps)\n"
	const app = own + apps
	for name, c := range map[string]struct{ files, want string }{
		"one": {kustomization(
			"apps", "path: ./apps\ntargetNamespace: shop\nnamePrefix: p-\nnameSuffix: -s\n"+
				"commonMetadata: {labels: {team: a}}"),
			app + "  ServiceMonitor/shop/p-shop-s of apps/monitor.yaml:1 map[team:a] ${CLUSTER:=none}\n" +
				"  apps/monitor.yaml:4:8: warning[flux-variable]: spec.jobLabel: ${CLUSTER} is used as text: nothing " +
				"replaces it here\n"},
		"a prefix that makes no valid name": {kustomization("apps",
			"path: ./apps\ntargetNamespace: shop\npostBuild: {substituteStrategy: Always}\nnamePrefix: P-"),
			app + "  clusters/prod/apps.yaml:9:3: error[invalid-metadata]: metadata.name: \"P-shop\": a lowercase " +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
				"end with an alphanumeric character\n"},
		"a suspended one": {kustomization("apps", "path: ./apps\nsuspend: true"), app +
			"  clusters/prod/apps.yaml:7:3: info[builds-nothing]: spec.suspend: Flux does not reconcile it, so it is not " +
			"built\n"},
		"one for another cluster": {kustomization("apps",
			"path: ./apps\nkubeConfig: {secretRef: {name: other}}"), app +
			"  clusters/prod/apps.yaml:7:3: info[builds-nothing]: spec.kubeConfig: it is for another cluster, so it is " +
			"not built\n"},
		"one that leads out of the path": {kustomization("all", "path: ./more") + "-- more/a.yaml --\n" +
			strings.SplitAfterN(kustomization("apps",
				"path: ./apps\ntargetNamespace: shop\npostBuild: {substitute: {CLUSTER: prod}}"), "\n", 2)[1],
			own + "clusters/prod/all.yaml (Kustomization/flux-system/all)\n" +
				"more/a.yaml (Kustomization/flux-system/apps)\n" +
				"  ServiceMonitor/shop/shop of apps/monitor.yaml:1 map[] prod\n"},
		"variables of a ConfigMap of another one": {substituted + kustomization("vars", "path: ./vars") +
			"-- vars/vars.yaml --\n" + config,
			app + "  ServiceMonitor/shop/shop of apps/monitor.yaml:1 map[] prod\n" +
				"clusters/prod/vars.yaml (Kustomization/flux-system/vars)\n" +
				"  ConfigMap/flux-system/vars of vars/vars.yaml:1 map[]\n"},
		"variables that nobody defines": {substituted,
			app + "  apps/monitor.yaml:4:8: error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} is unknown: " +
				"ConfigMap flux-system/vars is not in the inputs\n  clusters/prod/apps.yaml:8:32: " +
				"warning[flux-variable]: spec.postBuild.substituteFrom[0]: ConfigMap flux-system/vars is not in the " +
				"inputs\n"},
		"variables that nobody defines of what cannot be built": {substituted + "-- apps/kustomization.yaml --\n" +
			"resources: [none.yaml]\n",
			app + "  apps/kustomization.yaml:1:13: error[build-failed]: resources[0]: \"none.yaml\" is not in the " +
				"repository, or is hidden by a .sourceignore\n  clusters/prod/apps.yaml:8:32: " +
				"warning[flux-variable]: spec.postBuild.substituteFrom[0]: ConfigMap flux-system/vars is not in the " +
				"inputs\n"},
		"variables that nobody defines hold only what they reach": {substituted + "-- apps/kustomization.yaml --\n" +
			"resources: [monitor.yaml, other.yaml]\n-- apps/other.yaml --\napiVersion: monitoring.coreos.com/v1\n" +
			"kind: ServiceMonitor\nmetadata: {name: other}\nspec: {selector: {}, endpoints: [{port: web}]}\n",
			app + "  ServiceMonitor/shop/other of apps/other.yaml:1 map[] \n" +
				"  apps/monitor.yaml:4:8: error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} is unknown: " +
				"ConfigMap flux-system/vars is not in the inputs\n  clusters/prod/apps.yaml:8:32: " +
				"warning[flux-variable]: spec.postBuild.substituteFrom[0]: ConfigMap flux-system/vars is not in the " +
				"inputs\n"},
		"a number, which is no variable's name": {substituted + "-- apps/kustomization.yaml --\n" +
			"resources: [other.yaml]\n-- apps/other.yaml --\napiVersion: monitoring.coreos.com/v1\n" +
			"kind: ServiceMonitor\nmetadata: {name: other}\n" +
			"spec: {jobLabel: \"a${1}b\", selector: {}, endpoints: [{port: web}]}\n",
			app + "  ServiceMonitor/shop/other of apps/other.yaml:1 map[] ab\n" +
				"  clusters/prod/apps.yaml:8:32: warning[flux-variable]: spec.postBuild.substituteFrom[0]: ConfigMap " +
				"flux-system/vars is not in the inputs\n"},
		"a key that is no variable's name": {substituted + "-- clusters/prod/vars.yaml --\n" +
			strings.Replace(config, "CLUSTER", "cluster-name", 1),
			own + vars + apps + "  clusters/prod/apps.yaml:8:32: error[build-refused]: spec.postBuild.substituteFrom[0]: " +
				"\"cluster-name\" of ConfigMap flux-system/vars is not a variable name\n"},
		"a default": {kustomization("apps",
			"path: ./apps\ntargetNamespace: shop\npostBuild: {substituteStrategy: Always}"),
			app + "  ServiceMonitor/shop/shop of apps/monitor.yaml:1 map[] none\n"},
		"variables of an encrypted Secret": {substituted + "-- clusters/prod/vars.yaml --\n" + config +
			"-- clusters/prod/secret.yaml --\n" + strings.Replace(secret, "hunter22}", "'ENC[x]'}\nsops: {}", 1),
			own + vars + apps + "  apps/monitor.yaml:4:8: error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} is " +
				"unknown: Secret flux-system/vars cannot be decrypted\n" +
				"  clusters/prod/apps.yaml:8:63: warning[encrypted-secret]: spec.postBuild.substituteFrom[1]: Secret " +
				"flux-system/vars cannot be decrypted: nothing is decrypted here\n"},
		"an encrypted Secret that two name": {kustomization("apps", "path: ./keeps\npostBuild: {substituteFrom: "+
			"[{kind: ConfigMap, name: vars}, {kind: Secret, name: vars}]}") +
			kustomization("web", "path: ./keeps\npostBuild: {substituteFrom: [{kind: Secret, name: vars}]}") +
			"-- keeps/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n" +
			"-- clusters/prod/vars.yaml --\n" + config + "-- clusters/prod/secret.yaml --\n" +
			strings.Replace(secret, "hunter22}", "'ENC[x]'}\nsops: {}", 1),
			own + vars + apps + "  ConfigMap/b/a of keeps/a.yaml:1 map[]\n" +
				"  clusters/prod/apps.yaml:7:63: warning[encrypted-secret]: spec.postBuild.substituteFrom[1]: Secret " +
				"flux-system/vars cannot be decrypted: nothing is decrypted here\n" +
				"clusters/prod/web.yaml (Kustomization/flux-system/web)\n  ConfigMap/b/a of keeps/a.yaml:1 map[]\n"},
		"an object that keeps its text": {kustomization("apps",
			"path: ./keeps\npostBuild: {substitute: {CLUSTER: prod}}") +
			"-- keeps/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: a, namespace: b, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n" +
			"data: {CLUSTER: \"${x}\"}\n",
			app + "  ConfigMap/b/a of keeps/a.yaml:1 map[]\n"},
		"an object that Flux does not apply": {kustomization("apps", "path: ./keeps") +
			"-- keeps/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: a, namespace: b, annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}\n",
			app + "  clusters/prod/apps.yaml:6:3: warning[builds-nothing]: spec.path: Flux applies no object of the folder " +
				"keeps: the annotations kustomize.toolkit.fluxcd.io/reconcile: disabled and ssa: Ignore exclude all\n"},
		"another repository": {strings.Replace(kustomization("apps", "path: ./apps"), "name: flux-system}\n  path",
			"name: other}\n  path", 1),
			app + "  clusters/prod/apps.yaml:5:3: error[build-refused]: spec.sourceRef: it is unknown where " +
				"GitRepository/flux-system/other is\n"},
		"two that differ": {kustomization("all", "path: ./more") + kustomization("apps", "path: ./none") +
			"-- more/a.yaml --\n" + strings.SplitAfterN(kustomization("apps", "path: ./apps"), "\n", 2)[1],
			own + "clusters/prod/all.yaml (Kustomization/flux-system/all)\n" + apps +
				"  clusters/prod/apps.yaml:6:3: error[build-failed]: spec.path: the folder none is not in the " +
				"repository\n" +
				"more/a.yaml (Kustomization/flux-system/apps) again\n" +
				"  more/a.yaml:1:1: error[build-refused]: is defined twice: the other one is at " +
				"clusters/prod/apps.yaml:1\n"},
		"a circle": {kustomization("a", "path: ./circle") + "-- circle/b.yaml --\n" +
			strings.SplitAfterN(kustomization("b", "path: ./clusters/prod"), "\n", 2)[1],
			"circle/b.yaml (Kustomization/flux-system/b)\n" + own +
				"clusters/prod/a.yaml (Kustomization/flux-system/a)\n"},
		"a field of the wrong type": {kustomization("apps", "path: {}"),
			app + "  clusters/prod/apps.yaml:4:1: error[build-refused]: spec: a field has a value of the wrong type\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := applied(t, fluxSearch(archive(sync+c.files), "clusters/prod"))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAFollowedRootIsBuiltOnce: what the search built is taken, and charged for, once. It reads nothing more.
func TestAFollowedRootIsBuiltOnce(t *testing.T) {
	t.Parallel()
	search := fluxSearch(archive(sync+kustomization("apps", "path: ./apps\ntargetNamespace: shop")+
		kustomization("bad", "path: ./none")), "clusters/prod")
	want, _ := applied(t, search)
	var builds int
	var kept, taken int64
	var mu gosync.Mutex
	search.Builds = &inputs.Builds{Take: func(bytes int64) error {
		mu.Lock()
		defer mu.Unlock()
		builds++
		kept += bytes
		return nil
	}}
	layout, err := search.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if builds != 4 { // the path, the Kustomization that replaces it, and two more
		t.Errorf("%d roots were built", builds)
	}
	for range 2 {
		for _, r := range layout.Roots {
			built, err := inputs.Build(t.Context(), fstest.MapFS{}, r,
				inputs.Options{Options: search.Options, Builds: search.Builds})
			if err != nil {
				t.Fatal(err)
			}
			taken += built.Taken
		}
	}
	if taken == 0 || taken >= kept {
		t.Errorf("%d bytes were taken of %d, with those of the path that was replaced", taken, kept)
	}
	search.Builds = &inputs.Builds{}
	if got, _ := applied(t, search); got != want {
		t.Error(cmp.Diff(want, got))
	}
	search.Builds = &inputs.Builds{Take: func(int64) error { return context.DeadlineExceeded }}
	if _, err := search.Find(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a search that needs too much ends with %v", err)
	}
}

// TestFollowingAgainIsFollowingAnew: a search that knows an older one finds what a new search finds, whatever was
// edited.
func TestFollowingAgainIsFollowingAnew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		files := archive(sync)
		search := fluxSearch(files, "clusters/prod")
		_, layout := applied(t, search)
		for range 12 {
			name, text := randomEdit(random)
			_, was := files[name]
			changed := tree.Change{Path: name, Edited: was && text != ""}
			if delete(files, name); text != "" {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			want, _ := applied(t, search)
			again := search
			again.Before, again.Changed = layout, tree.NewChanges(changed)
			if random.IntN(2) == 0 {
				again.Builds = &inputs.Builds{}
			}
			var got string
			if got, layout = applied(t, again); got != want {
				t.Fatalf("seed %d, after an edit of %s: %s", seed, name, cmp.Diff(want, got))
			}
		}
	}
}

// randomEdit writes or removes a Kustomization, a folder's kustomization, variables or a monitor.
func randomEdit(random *rand.Rand) (name, text string) {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	folders := []string{"apps", "more", "more/deep", "clusters/prod"}
	switch name = pick("a", "b", "c"); random.IntN(5) {
	case 0, 1:
		text = kustomization(name, "path: "+pick(folders...)+
			pick("", "\ntargetNamespace: shop", "\nnamePrefix: p-", "\nsuspend: true")+
			pick("", "\npostBuild: {substitute: {CLUSTER: x}}",
				"\npostBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}",
				"\npostBuild: {substituteFrom: [{kind: Secret, name: vars, optional: true}]}"))
		name, text = pick("clusters/prod/", "more/", "more/deep/")+name+".yaml", strings.SplitAfterN(text, "\n", 2)[1]
	case 2:
		name, text = pick("apps", "more")+"/kustomization.yaml",
			"resources: ["+pick("monitor.yaml", "monitor.yaml, deep", "none.yaml")+"]\n"
	case 3:
		name, text = pick("more/vars.yaml", "clusters/prod/vars.yaml"),
			fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: vars, namespace: flux-system}\n"+
				"data: {CLUSTER: %s}\n", pick("ConfigMap", "Secret"), pick("cHJvZA==", "dGVzdA=="))
	case 4:
		name, text = pick("apps", "more", "more/deep")+"/monitor.yaml",
			fmt.Sprintf("# %d\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: shop}\n"+
				"spec: {jobLabel: \"${CLUSTER%s}\", selector: {}, endpoints: []}\n", random.IntN(3),
				pick("", ":=none", "!"))
	}
	if slices.Contains([]int{0, 1}, random.IntN(8)) {
		text = ""
	}
	return name, text
}

// TestAServerOfKeysThatIsAway: what needs it cannot be built, because the same files can give something else later.
func TestAServerOfKeysThatIsAway(t *testing.T) {
	t.Parallel()
	const sealed = "apiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: flux-system}\n" +
		"stringData: {PORT: 'ENC[AES256_GCM,data:72FyAxK53RP0bh6bQqk=,iv:td7w/k6DnvJuoWi5sEEYMH+S8FhQUBDq/23p5Li03vA=,tag:AiKiTbkYIYYu1NeFMfNwcQ==,type:str]'}\n" +
		"sops: {mac: 'ENC[x]'}\n"
	const of = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: apps, namespace: flux-system}\n" +
		"spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substituteFrom: " +
		"[{kind: Secret, name: vars}]}}\n"
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" +
		"metadata: {name: shop, namespace: flux-system}\n" +
		"spec: {chart: {spec: {chart: shop, sourceRef: {kind: GitRepository, name: flux-system}}}, valuesFrom: " +
		"[{kind: Secret, name: vars, valuesKey: PORT, targetPath: port}]}\n"
	object := func(name, text string) roots.Object {
		o := roots.Objects([]manifest.Built{{Text: []byte(text), Origin: inFile(name)}}, flux.Follows)
		return o[0]
	}
	for uncertain, want := range map[bool][2]string{
		true: {"spec.postBuild.substituteFrom[0]: Secret flux-system/vars cannot be decrypted: no answer",
			"spec.valuesFrom[0]: Secret flux-system/vars cannot be decrypted: no answer"},
		false: {"", ""},
	} {
		w := flux.Walker{Decrypt: func(context.Context, sops.File) (sops.Decrypted, error) {
			return sops.Decrypted{Reason: "no answer", IsUncertain: uncertain}, nil
		}}
		given := []roots.Object{object("vars.yaml", sealed), object("apps.yaml", of), object("shop.yaml", release)}
		found, err := w.Walk(context.Background(),
			[]roots.Root{{Name: "in", Folder: "in", Generate: &kustomize.Generate{}}},
			func(wanted ...roots.Root) ([][]roots.Object, error) {
				out := make([][]roots.Object, len(wanted))
				if wanted[0].Name == "in" {
					out[0] = given
				}
				return out, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		var got [2]string
		for _, r := range found {
			i := slices.Index([]string{"apps.yaml (Kustomization/flux-system/apps)",
				"shop.yaml (HelmRelease/flux-system/shop)"}, r.Name)
			if i < 0 {
				continue
			}
			if r.Problem != nil {
				got[i] = r.Problem.Error()
			} else if len(r.Warnings) != 1 {
				t.Errorf("%s has the warnings %v", r.Name, r.Warnings)
			}
		}
		if got != want {
			t.Errorf("uncertain %v: %q", uncertain, got)
		}
	}
}

// inFile is an origin: everything is in one file.
type inFile string

func (f inFile) Find(string, string) (string, int, int) { return string(f), 1, 1 }

// TestABuildThatEndsWithThePassIsNamed, with the limit of the pass.
func TestABuildThatEndsWithThePassIsNamed(t *testing.T) {
	t.Parallel()
	search := fluxSearch(archive(sync), "clusters/prod")
	ctx, cancel := context.WithCancelCause(t.Context())
	search.Options.Open = func() (tree.Files, func(), error) {
		cancel(errors.New("the pass took longer than 10m0s"))
		return search.Files, func() {}, nil
	}
	const want = "build clusters/prod: the pass took longer than 10m0s"
	if _, err := search.Find(ctx); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestReleasesThatAnUnknownVariableReaches are not rendered, and no chart is fetched for them.
func TestReleasesThatAnUnknownVariableReaches(t *testing.T) {
	t.Parallel()
	const repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n" +
		"metadata: {name: charts, namespace: shop}\nspec: {url: 'https://charts.example.com'}\n---\n"
	const values = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: shop}\n" +
		"data: {values.yaml: 'a: b'}\n---\n"
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: shop}\n" +
		"spec:\n  interval: '${SEEN:=1m}'\n  chart:\n    spec: {chart: app, version: 1.0.0, sourceRef: {kind: " +
		"HelmRepository, name: charts}}\n  values: {a: {b: [c]}}\n  valuesFrom: [{kind: ConfigMap, name: values}]\n"
	const why = "the value of ${IX} is unknown: ConfigMap flux-system/vars is not in the inputs\n"
	for name, c := range map[string]struct{ before, after, want string }{
		"the chart": {"chart: app", `chart: "app-${IX}"`,
			"apps/a.yaml:17:12: error[flux-variable]: spec.chart.spec.chart: " + why},
		"its version": {"version: 1.0.0", `version: "${IX:-2.x}"`,
			"apps/a.yaml:17:24: error[flux-variable]: spec.chart.spec.version: " + why},
		"values": {"b: [c]", `b: ["${IX}"]`, "apps/a.yaml:18:20: error[flux-variable]: spec.values.a.b[0]: " + why},
		"the repository": {"charts.example.com", "charts.example.com/${IX}",
			"apps/a.yaml:16:3: error[flux-variable]: spec.chart: HelmRepository shop/charts: spec.url: " + why},
		"values of a ConfigMap": {"a: b", "a: ${IX}", "apps/a.yaml:19:16: error[flux-variable]: spec.valuesFrom[0]: " +
			"ConfigMap shop/values: data[values.yaml]: " + why},
		"what does not matter": {"interval: '${SEEN:=1m}'", "interval: '${IX}'",
			"apps/a.yaml:16:3: error[build-refused]: spec.chart: charts are not rendered here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := strings.Replace(repository+values+release, c.before, c.after, 1)
			got, _ := applied(t, fluxSearch(archive(sync[:strings.Index(sync, "-- apps/")]+
				kustomization("apps", "path: ./apps\npostBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}")+
				"-- apps/a.yaml --\n"+app), "clusters/prod"))
			if !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		})
	}
}

// TestVariablesOfUnknownVariables are unknown, too.
func TestVariablesOfUnknownVariables(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")] +
		kustomization("all", "path: ./all\npostBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}") +
		strings.Replace(kustomization("apps", `path: ./apps
postBuild: {substitute: {CLUSTER: "x-${IX}", OTHER: known}}`), "clusters/prod", "all", 1)
	got, _ := applied(t, fluxSearch(archive(top+"-- apps/a.yaml --\napiVersion: monitoring.coreos.com/v1\n"+
		"kind: ServiceMonitor\nmetadata: {name: a, namespace: shop}\nspec: {jobLabel: '${CLUSTER}', selector: {}, "+
		"endpoints: [{port: web}]}\n---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
		"metadata: {name: b, namespace: shop}\nspec: {jobLabel: '${OTHER}', selector: {}, endpoints: [{port: web}]}\n"),
		"clusters/prod"))
	const want = "apps/a.yaml:4:8: error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} depends on another: " +
		"the value of ${IX} is unknown: ConfigMap flux-system/vars is not in the inputs\n"
	if !strings.Contains(got, want) || !strings.Contains(got, "ServiceMonitor/shop/b of apps/a.yaml:6 map[] known\n") {
		t.Errorf("want %q in\n%s", want, got)
	}
}
