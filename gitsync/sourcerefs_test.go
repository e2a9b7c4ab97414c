package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// twoRepositories is a pipeline whose Kustomizations build from another source, of which nothing else is read.
func twoRepositories(t *testing.T) (l *lab, apps *remote, files map[string]string) {
	built := fluxed()
	from := func(text string) string {
		return strings.ReplaceAll(text, "GitRepository, name: flux-system", "GitRepository, name: apps")
	}
	l = newLab(t)
	files = map[string]string{"unlisted.yaml": monitor("a", "unlisted", "http")}
	for _, name := range []string{"base/agent.yaml", "base/web.yaml", "deep/b.yaml", "deep/vars.yaml"} {
		files[name] = from(built[name])
		delete(built, name)
	}
	built["in/a.yaml"], built["in/b.yaml"] = from(built["in/a.yaml"]), from(built["in/b.yaml"])
	l.files = built
	apps = l.remote.host.add("apps")
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{Name: "apps", URL: apps.url, Ref: pipeline.Ref{Branch: "main"}})
	l.pipeline.Spec.SourceRefs = map[string]string{"GitRepository/flux-system/apps": "apps"}
	apps.commit("main", plain(files), 0, "apps")
	return l, apps, files
}

// TestACommitThatIsReadIsNoOtherRevision: nor are the start of its id and a tag of it.
func TestACommitThatIsReadIsNoOtherRevision(t *testing.T) {
	l, apps, files := twoRepositories(t)
	at := apps.refs["refs/heads/main"]
	apps.refs["refs/tags/v1"] = at
	minute := 1
	for _, isMoved := range []bool{false, true} {
		if isMoved {
			files["deep/b.yaml"] += "# x\n"
			apps.commit("main", plain(files), minute, "apps")
		}
		for _, ref := range []string{"commit: " + at.String(), "name: refs/tags/v1", "tag: v1",
			"branch: main, commit: " + at.String()[:12]} {
			l.input(map[string]string{"in/source.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
				"metadata: {name: apps, namespace: flux-system}\nspec: {url: " + apps.url + ", ref: {" + ref + "}}\n"})
			told := 0
			for _, d := range l.pass().Diags {
				if d.Code == diag.OtherRevision {
					told++
				}
			}
			if isMoved != (told > 0) {
				t.Errorf("%s, moved %v: %d warnings", ref, isMoved, told)
			}
		}
	}
}

// TestOnlyWhatReadsAChangeOfAnotherSourceIsBuiltAgain: and an edit of one repository costs nothing for the other.
func TestOnlyWhatReadsAChangeOfAnotherSourceIsBuiltAgain(t *testing.T) {
	l, apps, files := twoRepositories(t)
	l.input(nil)
	s := l.syncer()
	get := func(ns string) *manifest.Object {
		return l.passOf(s).Set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: ns, Name: "web"})
	}
	a, b := get("a"), get("b")
	files["deep/vars.yaml"] = strings.Replace(files["deep/vars.yaml"], "http", "metrics", 1)
	apps.commit("main", plain(files), 1, "apps")
	if get("a") != a {
		t.Error("a is built again though nothing that it reads has changed")
	}
	if get("b") == b {
		t.Error("b is not built again though a variable has changed")
	}
	l.input(map[string]string{"in/c.yaml": "x: y\n"})
	if get("a") != a {
		t.Error("a is built again though only the first repository has changed")
	}
}

// TestKustomizationsNameOtherSources: by any URL of theirs, if sourceRefs names the source. An edit of it counts.
func TestKustomizationsNameOtherSources(t *testing.T) {
	l := newLab(t)
	host := l.remote.host
	apps, private := host.add("apps"), host.add("private")
	base := func(port string) map[string]string {
		return map[string]string{"base/kustomization.yaml": "resources: [web.yaml]\n",
			"base/web.yaml": strings.ReplaceAll(monitor("x", "web", port), ", namespace: x", "")}
	}
	apps.commit("main", plain(base("first")), 0, "apps")
	kept := base("secret")
	kept["own/web.yaml"] = monitor("a", "zzz", "http")
	private.commit("main", plain(kept), 0, "private")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{Name: "apps", URL: apps.url, Ref: pipeline.Ref{Branch: "main"}},
		pipeline.Source{Name: "private", URL: private.url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"own"}})
	l.pipeline.Spec.SourceRefs = map[string]string{strings.Replace(apps.url, "http://", "ssh://git@", 1): "apps"}
	entry := func(url string) map[string]string {
		return map[string]string{
			"in/a/kustomization.yaml": "namespace: a\nresources: [agent.yaml, '" + url + "//base']\n"}
	}
	l.files["in/a/agent.yaml"] = strings.ReplaceAll(agent("a"), ", namespace: a", "")
	l.input(entry(apps.url + ".git"))
	s := l.syncer()
	if report := l.passOf(s); l.port() != "first" || report.Diags.HasErrors() || len(l.pins()) > 0 {
		t.Errorf("%s: %v", l.port(), report.Diags)
	}
	apps.commit("main", plain(base("second")), 1, "apps")
	if report := l.passOf(s); l.port() != "second" || report.Diags.HasErrors() {
		t.Errorf("after an edit: %s: %v", l.port(), report.Diags)
	}
	l.input(entry("git::" + apps.url))
	bad := base("third")
	bad["base/web.yaml"] = strings.Replace(bad["base/web.yaml"], "spec:", "spec:\n  sampleLimit: many", 1)
	apps.commit("main", plain(bad), 2, "apps")
	if d := l.passOf(s).Diags; len(d) != 1 || d[0].Position() != "@apps/base/web.yaml:5:3" {
		t.Errorf("a finding: %v", d)
	}
	for _, url := range []string{private.url, private.url + ".git", "../../@private", "../../@apps/../@private"} {
		l.input(entry(url))
		if report := l.passOf(s); l.port() != "second" || !report.Diags.HasErrors() {
			t.Errorf("%s: %s: %v", url, l.port(), report.Diags)
		}
	}
}
