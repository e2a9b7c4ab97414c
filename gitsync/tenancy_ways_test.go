package gitsync_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// tenants makes the lab's pipeline one with tenants.
func (l *lab) tenants(build inputs.Mode, paths ...string) {
	l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
	l.pipeline.Spec.Sources[0].Build, l.pipeline.Spec.Sources[0].Paths = build, paths
}

// commit commits changes of the input with links.
func (l *lab) commit(changes, links map[string]string) {
	for name, text := range changes {
		l.files[name] = text
	}
	files := plain(l.files)
	for name, target := range links {
		files[name] = entry{text: target, mode: filemode.Symlink}
	}
	l.minute++
	l.remote.commit("main", files, l.minute, "Change")
}

// jobs are the configuration of the platform's agent.
func (l *lab) jobs() (text string) {
	for _, one := range l.payload("monitoring/agent") {
		text += one
	}
	return text
}

// renders fails unless the platform's agent has the jobs, and none of evil.
func (l *lab) renders(report *gitsync.Report, jobs ...string) {
	l.t.Helper()
	text := l.jobs()
	for _, job := range jobs {
		if !strings.Contains(text, job) {
			l.t.Errorf("no job %s: %v", job, report.Diags)
		}
	}
	if strings.Contains(text, "evil") {
		l.t.Errorf("what was refused is rendered: %v", report.Diags)
	}
}

// TestTenantsTakeNoPathOver: a Kustomization that builds a path of the pipeline replaces the path, unless it is a
// tenant's.
func TestTenantsTakeNoPathOver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.tenants(inputs.Flux, "in")
	files := platform()
	delete(files, "in/platform/base/extra.yaml")
	l.input(files)
	l.renders(l.pass(), "/b/web/")
	own := strings.Replace(fluxKustomization("evil", "in", "namePrefix: evil-"), "namespace: flux-system}",
		"namespace: a}", 1)
	l.input(map[string]string{"in/teams/a/x.yaml": strings.Replace(own, "name: flux-system}",
		"name: flux-system, namespace: flux-system}", 1),
		"in/teams/b/new.yaml": monitor("b", "new", "http")})
	refused(t, l)
}

// TestTenantsLinks lead to nothing of others: neither as files, nor in what the platform builds of the tenant's folder.
func TestTenantsLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes, links map[string]string
		code           diag.Code
	}{
		"a file": {nil, map[string]string{"in/teams/a/evil.yaml": "../../platform/base/extra.yaml"},
			diag.SymlinkRefused},
		"a folder that the platform builds": {
			map[string]string{"in/more/kustomization.yaml": "namePrefix: evil-\nresources: [../teams/a/parts]\n",
				"in/teams/b/kustomization.yaml": "resources: [web.yaml, new.yaml]\n"},
			map[string]string{"in/teams/a/parts": "../b"}, diag.BuildRefused},
		"a file that the platform patches with": {
			map[string]string{"in/more/kustomization.yaml": "resources: [x.yaml]\n" +
				"patches: [{path: ../teams/a/evil.yaml}]\n",
				"in/more/x.yaml":              monitor("monitoring", "web", "http"),
				"in/platform/base/patch.yaml": monitor("monitoring", "web", "evil")},
			map[string]string{"in/teams/a/evil.yaml": "../../platform/base/patch.yaml"}, diag.BuildRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.tenants("", "in")
			files := platform()
			files["in/platform/base/kustomization.yaml"] = "resources: []\n"
			l.input(files)
			l.pass()
			changes := map[string]string{"in/teams/b/new.yaml": monitor("b", "new", "http")}
			for file, text := range c.changes {
				changes[file] = text
			}
			l.commit(changes, c.links)
			report := l.pass()
			if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool {
				return d.Code == c.code && d.Severity == diag.Error
			}) {
				t.Errorf("not refused: %v", report.Diags)
			}
			l.renders(report, "/b/web/", "/b/new/")
		})
	}
}

// TestFoldersThatAreNoTenants: what is in them defines nothing.
func TestFoldersThatAreNoTenants(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"A_b", "b.c", "-b", strings.Repeat("b", 64), "b b", "{namespace}", "*", "@b"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.tenants("", "in")
			l.input(platform())
			l.pass()
			l.input(map[string]string{"in/teams/" + folder + "/x.yaml": monitor("b", "evil", "http"),
				"in/teams/b/new.yaml": monitor("b", "new", "http")})
			refused(t, l)
		})
	}
}

// TestBrokenRootsOfTenantsDeleteNothing: what a tenant breaks keeps its own last good version, and others render on.
// When it is whole again, what is gone is deleted.
func TestBrokenRootsOfTenantsDeleteNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.tenants(inputs.Flux, "in/clusters")
	l.input(fluxTenants())
	l.renders(l.pass(), "/a/own/", "/b/web/")
	for name, broken := range map[string]string{
		"no such file": "resources: [own.yaml, none.yaml]\n", "no YAML": "resources: [",
		"a circle":              "resources: [../a]\n",
		"out of the repository": "resources: [../../../../etc/passwd]\n",
		"another's base":        "resources: [own.yaml, ../b]\n",
	} {
		l.input(map[string]string{"in/teams/a/kustomization.yaml": broken,
			"in/teams/b/new.yaml": monitor("b", "new", "http")})
		report := l.pass()
		if !report.Diags.HasErrors() {
			t.Errorf("%s: no error", name)
		}
		l.renders(report, "/a/own/", "/b/web/", "/b/new/")
		l.input(map[string]string{"in/teams/a/kustomization.yaml": "", "in/teams/b/new.yaml": ""})
		l.renders(l.pass(), "/a/own/", "/b/web/")
		if strings.Contains(l.jobs(), "/b/new/") {
			t.Errorf("%s: what was deleted stays", name)
		}
	}
}

// argoTenants are the platform and two tenants, each with an Application of Argo CD.
func argoTenants(url string) map[string]string {
	source := func(path string) string { return "source: {repoURL: " + url + ", path: " + path + "}" }
	files := map[string]string{"in/clusters/platform.yaml": argoApplication("platform", source("in/platform"),
		"monitoring")}
	for name, text := range platform() {
		if !strings.Contains(name, "/base/") {
			files[name] = text
		}
	}
	for _, tenant := range []string{"a", "b"} {
		files["in/clusters/"+tenant+".yaml"] = argoApplication("team-"+tenant, source("in/teams/"+tenant), tenant)
	}
	files["in/teams/a/own.yaml"], files["in/teams/b/web.yaml"] = monitor("a", "own", "http"), monitor("b", "web",
		"http")
	return files
}

// TestHostileTenantsOfArgoCD take nobody's place by Applications, ApplicationSets and clusters.
func TestHostileTenantsOfArgoCD(t *testing.T) {
	t.Parallel()
	own := func(text string) string { return strings.Replace(text, "namespace: argocd}", "namespace: a}", 1) }
	source := func(url, path string) string { return "source: {repoURL: " + url + ", path: " + path + "}" }
	for name, c := range map[string]struct {
		text func(url string) string
		code diag.Code // besides tenancy
	}{
		"an Application of the platform's": {func(url string) string {
			return argoApplication("platform", source(url, "in/teams/a/parts"), "a")
		}, diag.Tenancy},
		"a new one in argocd": {func(url string) string {
			return argoApplication("evil", source(url, "in/teams/a/parts"), "a")
		}, diag.Tenancy},
		"one without a namespace": {func(url string) string {
			return strings.Replace(argoApplication("evil", source(url, "in/teams/a/parts"), "a"),
				", namespace: argocd}", "}", 1)
		}, diag.Tenancy},
		"another's namespace": {func(url string) string {
			return own(argoApplication("evil", source(url, "in/teams/a/bare"), "b"))
		}, diag.Tenancy},
		"another's path": {func(url string) string {
			return own(argoApplication("evil", source(url, "in/teams/b"), "b"))
		}, diag.Tenancy},
		"an ApplicationSet": {func(url string) string {
			return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: evil, namespace: a}\n" +
				"spec:\n  generators: [{list: {elements: [{name: platform}]}}]\n" +
				"  template: {metadata: {name: '{{name}}', namespace: argocd}, spec: {" +
				source(url, "in/teams/a/bare") + ", destination: {name: in-cluster, namespace: b}}}\n"
		}, diag.Tenancy},
		"another cluster": {func(url string) string {
			return strings.Replace(own(argoApplication("evil", source(url, "in/teams/a/parts"), "a")),
				"https://kubernetes.default.svc", "https://evil:6443", 1)
		}, diag.BuildRefused},
		"a cluster": {func(string) string {
			return "apiVersion: v1\nkind: Secret\nmetadata: {name: c, namespace: argocd, labels: " +
				"{argocd.argoproj.io/secret-type: cluster}}\n" +
				"stringData: {name: evil, server: \"https://kubernetes.default.svc\"}\n"
		}, diag.Tenancy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			url := l.pipeline.Spec.Sources[0].URL
			l.tenants(inputs.ArgoCD, "in/clusters")
			l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]},
				Env: []string{chartsEnv + "=1"}})
			t.Cleanup(l.options.Charts.Close)
			l.input(argoTenants(url))
			l.renders(l.pass(), "/a/own/", "/b/web/")
			l.input(map[string]string{"in/teams/a/kustomization.yaml": "resources: [own.yaml, x.yaml]\n",
				"in/teams/a/x.yaml":          c.text(url),
				"in/teams/a/parts/evil.yaml": monitor("b", "evil", "http"),
				"in/teams/a/bare/evil.yaml":  strings.Replace(monitor("x", "evil", "http"), ", namespace: x", "", 1),
				"in/teams/b/new.yaml":        monitor("b", "new", "http")})
			report := l.pass()
			if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool {
				return d.Severity == diag.Error && d.Code == c.code
			}) {
				t.Errorf("no error %s: %v", c.code, report.Diags)
			}
			l.renders(report, "/a/own/", "/b/web/", "/b/new/")
		})
	}
}

// TestSourcesOfTenants: what a source defines is its tenant's, whatever its folders are named.
func TestSourcesOfTenants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text string }{
		"another namespace":                 {"x.yaml", monitor("b", "evil", "http")},
		"a tenant's folder":                 {"in/teams/b/x.yaml", monitor("b", "evil", "http")},
		"a folder like one that is mounted": {"@platform/x.yaml", monitor("b", "evil", "http")},
		"a kustomization": {"kustomization.yaml",
			"namespace: b\nresources: [own.yaml]\nnamePrefix: evil-\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.tenants("", "in")
			team := l.remote.host.add("team-a")
			l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
				pipeline.Source{Name: "team-a", URL: team.url, Ref: pipeline.Ref{Branch: "main"}, Tenant: "a"})
			l.input(platform())
			team.commit("main", plain(map[string]string{"own.yaml": monitor("a", "own", "http")}), 1, "Own")
			l.renders(l.pass(), "/a/own/", "/b/web/")
			team.commit("main", plain(map[string]string{"own.yaml": monitor("a", "own", "http"), c.file: c.text}), 2,
				"Evil")
			report := l.pass()
			if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool {
				return d.Code == diag.Tenancy && strings.Contains(d.Problem(), "spec.sources[].tenant")
			}) {
				t.Errorf("not refused: %v", report.Diags)
			}
			l.renders(report, "/b/web/")
		})
	}
}

// TestMountedSourcesOfTenants: a Kustomization of the platform builds a tenant's repository, whose files stay the
// tenant's.
func TestMountedSourcesOfTenants(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.tenants(inputs.Flux, "in")
	team := l.remote.host.add("team-a")
	l.pipeline.Spec.Sources[0].Name = "platform"
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{Name: "team-a", URL: team.url, Ref: pipeline.Ref{Branch: "main"}, Tenant: "a"})
	l.pipeline.Spec.SourceRefs = map[string]string{"GitRepository/flux-system/team-a": "team-a"}
	files := platform()
	files["in/platform/a.yaml"] = strings.Replace(fluxKustomization("a", "./", ""), "name: flux-system}",
		"name: team-a}", 1)
	files["in/platform/kustomization.yaml"] = "resources: [agent.yaml, a.yaml]\n"
	l.input(files)
	team.commit("main", plain(map[string]string{"own.yaml": monitor("a", "own", "http")}), 1, "Own")
	l.renders(l.pass(), "/a/own/", "/b/web/")
	team.commit("main", plain(map[string]string{"own.yaml": monitor("a", "own", "http"),
		"x.yaml": monitor("b", "evil", "http")}), 2, "Evil")
	report := l.pass()
	if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool { return d.Code == diag.Tenancy }) {
		t.Errorf("not refused: %v", report.Diags)
	}
	l.renders(report, "/a/own/", "/b/web/")
}

// TestPlacesOfBreaches: a breach is where the namespace is written, also behind a transformer, and explain shows the
// rule.
func TestPlacesOfBreaches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		at    string
	}{
		"a file": {map[string]string{"x.yaml": monitor("b", "evil", "http")}, "in/teams/a/x.yaml:3:24"},
		"a kustomization": {map[string]string{"kustomization.yaml": "resources: [x.yaml]\nnamespace: b\n",
			"x.yaml": monitor("a", "evil", "http")}, "in/teams/a/kustomization.yaml:2:1"},
		"a patch": {
			map[string]string{"kustomization.yaml": "resources: [x.yaml]\npatches: [{path: p.yaml, target: {kind: " +
				"ServiceMonitor}}]\n", "p.yaml": "- op: replace\n  path: /metadata/namespace\n  value: b\n",
				"x.yaml": monitor("a", "evil", "http")}, "in/teams/a/p.yaml:3:3"},
		"a transformer": {map[string]string{"kustomization.yaml": "resources: [x.yaml]\ntransformers: [t.yaml]\n",
			"t.yaml": "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata:\n  name: t\n  namespace: b\n",
			"x.yaml": monitor("a", "evil", "http")}, "in/teams/a/t.yaml:5:3"},
		"a component": {map[string]string{"kustomization.yaml": "resources: [x.yaml]\ncomponents: [part]\n",
			"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: b\n",
			"x.yaml":                  monitor("a", "evil", "http")}, "in/teams/a/part/kustomization.yaml:3:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.tenants("", "in")
			l.input(platform())
			for file, text := range c.files {
				l.files["in/teams/a/"+file] = text
			}
			l.input(nil)
			report := l.pass()
			i := slices.IndexFunc(report.Diags, func(d diag.Diagnostic) bool { return d.Code == diag.Tenancy })
			if i < 0 || report.Diags[i].Position() != c.at {
				t.Fatalf("not at %s: %v", c.at, report.Diags)
			}
			e, ok := explain.New(*report.Explained).Explain(manifest.ID{Kind: "ServiceMonitor", Namespace: "b",
				Name: "evil"})
			if !ok || e.State != explain.LeftOut || !strings.Contains(e.Text(), "(spec.tenancy.folders)") {
				t.Errorf("explain does not show the rule: %v", e)
			}
		})
	}
}

// TestFoldersOfNobody: a pattern that matches nothing is warned of, because it lets everybody do everything.
func TestFoldersOfNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.tenants("", "in")
	l.pipeline.Spec.Tenancy.Folders = "team/{namespace}/**"
	l.input(platform())
	warned := func(d diag.Diagnostic) bool {
		return d.Code == diag.NoTenant && d.Severity == diag.Warning && d.Hint != ""
	}
	if report := l.pass(); !slices.ContainsFunc(report.Diags, warned) {
		t.Errorf("not warned: %v", report.Diags)
	}
	l.pipeline.Spec.Tenancy.Folders = "in/teams/{namespace}/**"
	if report := l.pass(); slices.ContainsFunc(report.Diags, warned) {
		t.Errorf("warned: %v", report.Diags)
	}
}
