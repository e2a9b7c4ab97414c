//go:build argocd

package argocd

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	// config is the Secret with the configuration of the quickstart's agent.
	config = "Secret/monitoring/grafana-agent-config"
	// statefulSet is the first shard of that agent.
	statefulSet = "StatefulSet/monitoring/grafana-agent"

	// trackedBy is the annotation by which Argo CD knows its objects.
	trackedBy = "argocd.argoproj.io/tracking-id"

	// allowDeletions in the message of a commit lets it delete more than half of the workloads.
	allowDeletions = "\n\nAgentry-Allow-Deletions: true"
)

// TestArgoCD is one story, each step of which goes on from where the last one ended.
func TestArgoCD(t *testing.T) {
	w := newTestbed(t)
	for _, step := range []struct {
		name string
		test func(*testing.T)
	}{
		{"the branch waits for its namespaces, and is applied", w.first},
		{"what is rendered is what is in the cluster", w.same},
		{"hard refreshes find no difference", func(*testing.T) { w.refreshed() }},
		{"a changed monitor changes one Secret", func(*testing.T) {
			w.changes("interval: 30s", "interval: 45s", config)
		}},
		{"what is held is not loaded", w.held},
		{"a folder of plain manifests it is not", w.plainFolder},
		{"the typo is put right", func(*testing.T) { w.changes("- port: 8080", "- port: metrics", config) }},
		{"the input is not for the cluster", w.input},
		{"agentry says how far Argo CD is with a commit", w.delivered},
		{"an edit in the cluster is put back", w.selfHeal},
		{"a Secret that is too large for client-side apply is applied", w.large},
		{"server-side apply and diff find no difference", w.serverSide},
		{"a GrafanaAgent that is removed is pruned", w.removed},
		{"the last one is pruned when that is allowed", w.last},
		{"an ApplicationSet takes over, one Application for each agent", w.applicationSet},
		{"tracking by label overwrites the operator's label", w.labels},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			outer := w.t
			w.t = t
			defer func() { w.t = outer }()
			step.test(t)
		}) {
			return // The next ones would only repeat it.
		}
	}
}

func (w *testbed) first(t *testing.T) {
	s := gitops.Rendered(t, "prod", w.forge.Tip(t, "main"))
	w.sh("create secret generic")
	w.mustApply(w.onPage("name: " + rendered))
	w.await(rendered, "fails, as there are no namespaces", func(a application) bool {
		return a.Status.OperationState.Phase == "Running" && a.Status.OperationState.RetryCount > 0 &&
			strings.Contains(a.Status.OperationState.Message, `namespaces "monitoring" not found`)
	})
	w.mustApply(w.onPage("name: monitoring-cluster"))
	w.synced("monitoring-cluster", w.forge.Tip(t, "main"))
	w.synced(rendered, s.Output.Commit)
}

func (w *testbed) same(t *testing.T) {
	out, err := exec.Command(harness.Agentry().Path(), "render", "--no-pipeline", w.user.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	want, got := gitops.ByName(harness.Decode(t, out)), w.inCluster()
	if len(want) < 11 { // Two agents, with all kinds of workloads.
		t.Fatalf("only %q are rendered", want.Names())
	}
	a, err := w.application(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if names := a.resources(); !slices.Equal(names, want.Names()) || !slices.Equal(names, got.Names()) {
		t.Fatalf("rendered %q\non the branch %q\nloaded %q", want.Names(), got.Names(), names)
	}
	if a.Status.SourceType != "Kustomize" {
		t.Errorf("built with %s", a.Status.SourceType)
	}
	for name, o := range want {
		if mark, marked := o.GetAnnotations()[trackedBy]; marked {
			t.Errorf("%s is rendered as %s's", name, mark)
		}
		if o.GetNamespace() == "" {
			t.Errorf("%s names no namespace", name)
		}
		if got := got[name].GetAnnotations()[trackedBy]; got != tracking(rendered, o) {
			t.Errorf("%s is %q's", name, got)
		}
		for _, m := range gitops.Missing(gitops.AsStored(t, o).Object, got[name].Object, "") {
			t.Errorf("%s %s", name, m)
		}
	}
}

// changes edits the checkout's monitor, which changes objects and no others.
func (w *testbed) changes(before, after string, names ...string) {
	w.t.Helper()
	was := w.inCluster()
	w.user.Edit(w.t, "team-shop/monitors.yaml", before, after)
	if s := w.settled(w.user.Push(w.t, "Scrape the checkout otherwise")); len(s.Held) > 0 {
		w.t.Errorf("held: %v", s.Held)
	}
	if changed := gitops.Changed(was, w.inCluster()); !slices.Equal(changed, names) {
		w.t.Errorf("changed: %q", changed)
	}
}

// held is about the texts in .agentry/held, which are YAML, but no manifests.
func (w *testbed) held(t *testing.T) {
	was := w.inCluster()
	w.user.Edit(t, "team-shop/monitors.yaml", "- port: metrics\n      interval: 45s",
		"- port: 8080\n      interval: 50s")
	w.user.Edit(t, "team-search/monitors.yaml", "interval: 1m", "interval: 2m")
	if s := w.settled(w.user.Push(t, "A typo, and something good")); len(s.Held) != 1 {
		t.Errorf("held: %v", s.Held)
	}
	if changed := gitops.Changed(was, w.inCluster()); !slices.Equal(changed, []string{config}) {
		t.Errorf("changed: %q", changed)
	}
	if !slices.ContainsFunc(w.forge.Files(t, branch), func(file string) bool {
		return strings.HasPrefix(file, ".agentry/held/")
	}) {
		t.Fatalf("nothing is held on the branch, so this proves nothing: %q", w.forge.Files(t, branch))
	}
	a, err := w.application(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if names := w.forge.Manifests(t, branch).Names(); !slices.Equal(a.resources(), names) {
		t.Errorf("loaded %q\nnot    %q", a.resources(), names)
	}
}
