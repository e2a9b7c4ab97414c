package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

func TestFirstPass(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source := r.commit("Add teams\n\nMore words.", twoTeams())
	report := r.pass()
	if report.Commit == "" || len(report.Diags) > 0 {
		t.Fatalf("no commit, or %v", report.Diags)
	}
	want := []string{
		".agentry/inventory", ".agentry/units", ".gitattributes", "README.md",
		"a/agent/.agentry/inventory", "a/agent/README.md", "a/agent/agent-config.secret.yaml",
		"a/agent/agent-operated.service.yaml",
		"a/agent/agent.statefulset.yaml", "a/agent/kustomization.yaml",
		"b/agent/.agentry/inventory", "b/agent/README.md", "b/agent/agent-config.secret.yaml",
		"b/agent/agent-operated.service.yaml",
		"b/agent/agent.statefulset.yaml", "b/agent/kustomization.yaml",
		"hydrator.metadata", "kustomization.yaml",
	}
	if diff := cmp.Diff(want, r.files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if head := r.out("rev-parse", "env"); head != report.Commit {
		t.Errorf("branch is at %s, the report says %s", head, report.Commit)
	}
	if text := r.show("a/agent/agent-config.secret.yaml"); !strings.Contains(text, "serviceMonitor/a/web/0") {
		t.Errorf("the configuration lacks the monitor:\n%s", text)
	}
	message := r.out("log", "-1", "--format=%B", "env")
	for _, line := range []string{source[:7] + ": Add teams", "Agentry-Source-Commit: " + source,
		"Agentry-Version: v0.0.0-test"} {
		if !strings.Contains(message, line) {
			t.Errorf("message lacks %q:\n%s", line, message)
		}
	}
	if date := r.out("log", "-1", "--format=%aI %cI", "env"); date != "2026-01-02T03:01:00Z 2026-01-02T03:01:00Z" &&
		date != "2026-01-02T03:01:00+00:00 2026-01-02T03:01:00+00:00" {
		t.Errorf("dates %s are not the input commit's", date)
	}
	if refs := r.out("for-each-ref", "--format=%(refname)"); refs != "refs/heads/env\nrefs/heads/main" {
		t.Errorf("refs are\n%s", refs)
	}
	if meta := r.show("hydrator.metadata"); !strings.Contains(meta, `"drySha": "`+source+`"`) ||
		!strings.Contains(meta, `"body": "More words."`) {
		t.Errorf("hydrator.metadata:\n%s", meta)
	}
	r.out("fsck", "--strict")
	if again := r.pass(); again.Commit != "" || len(again.Changes) > 0 {
		t.Errorf("the second pass made %+v", again)
	}
}

func TestChangeTouchesOneUnit(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"one-shot", "long-running"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.syncer()
			next := func() *gitsync.Report {
				if mode == "one-shot" {
					return r.pass()
				}
				return r.passOf(s)
			}
			r.commit("one", twoTeams())
			next()
			before := r.tree("b")
			r.commit("two", map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
			report := next()
			if diff := cmp.Diff(map[string]plan.UnitState{"a/agent": "changed", "b/agent": "unchanged"},
				states(report)); diff != "" {
				t.Error(diff)
			}
			if r.tree("b") != before {
				t.Error("the folder of b changed")
			}
			changed := r.out("diff", "--name-only", "env~1", "env")
			if diff := cmp.Diff("a/agent/agent-config.secret.yaml\nhydrator.metadata", changed); diff != "" {
				t.Errorf("changed files (-want +got):\n%s", diff)
			}
			r.commit("nothing that matters", map[string]string{"other/file.txt": "x"})
			if report := next(); report.Commit != "" {
				t.Errorf("metadata alone made commit %s", report.Commit)
			}
			r.commit("remove b", map[string]string{"in/b/agent.yaml": "", "in/b/web.yaml": ""})
			next()
			if files := strings.Join(r.files(), " "); strings.Contains(files, "b/agent") {
				t.Errorf("b is still there: %s", files)
			}
		})
	}
}

// TestReplicasMakeTheSameCommit runs two services over one history, the second on a
// branch of its own.
func TestReplicasMakeTheSameCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	first := r.pass()
	r.out("update-ref", "-d", "refs/heads/env")
	r.options.CacheDir = t.TempDir()
	if second := r.pass(); second.Commit != first.Commit {
		t.Errorf("%s and %s", first.Commit, second.Commit)
	}
}

func TestBadObjectIsHeld(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]map[string]string{
		"invalid field": {"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), "port: http", "port: 80",
			1)},
		"error in rendering": {"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), "port: http",
			"port: http, interval: 1s, scrapeTimeout: 2s", 1)},
		"broken YAML":        {"in/a/web.yaml": "{"},
		"broken agent":       {"in/a/agent.yaml": "{"},
		"duplicate":          {"in/a/again.yaml": monitor("a", "web", "other")},
		"renamed and broken": {"in/a/web.yaml": "", "in/a/moved.yaml": "\tx"},
		"symlink":            {"in/a/web.yaml": ""},
		"broken instance":    {"in/a/agent.yaml": strings.Replace(agent("a"), "remoteWrite: [", "remoteWrite: 5 #", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.commit("good", twoTeams())
			r.pass()
			before := r.payload("a/agent")
			if name == "symlink" {
				if err := os.Symlink("/etc/passwd", filepath.Join(r.work, "in/a/link.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			bad["in/b/web.yaml"] = monitor("b", "web", "changed")
			r.commit("bad", bad)
			report := r.pass()
			if diff := cmp.Diff(map[string]plan.UnitState{"a/agent": "unchanged", "b/agent": "changed"},
				states(report)); diff != "" {
				t.Errorf("%s\n%v", diff, report.Diags)
			}
			if errors := report.Diags.Count(diag.Error); errors != 1 {
				t.Errorf("%d errors are reported: %v", errors, report.Diags)
			}
			if r.payload("a/agent") != before {
				t.Error("what is rendered changed")
			}
			if !strings.Contains(r.show("b/agent/agent-config.secret.yaml"), "changed") {
				t.Error("the good unit did not move on")
			}
			if again := r.pass(); again.Commit != "" || len(again.Held) == 0 {
				t.Errorf("the next pass: %+v", again)
			}
			os.Remove(filepath.Join(r.work, "in/a/link.yaml"))
			fixed := twoTeams()
			fixed["in/a/web.yaml"] = monitor("a", "web", "fixed")
			if _, ok := bad["in/a/again.yaml"]; ok {
				fixed["in/a/again.yaml"] = ""
			}
			if _, ok := bad["in/a/moved.yaml"]; ok {
				fixed["in/a/moved.yaml"] = ""
			}
			r.commit("fix", fixed)
			report = r.pass()
			if states(report)["a/agent"] != "changed" || len(report.Diags) > 0 || len(report.Held) > 0 {
				t.Errorf("after the fix: %v %v", states(report), report.Diags)
			}
		})
	}
}

func TestFirstRunLeavesTheBadObjectOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	files := twoTeams()
	files["in/a/bad.yaml"] = strings.Replace(monitor("a", "bad", "http"), "port: http",
		"port: http, interval: 1s, scrapeTimeout: 2s", 1)
	files["in/a/broken.yaml"] = "{"
	r.commit("one", files)
	report := r.pass()
	if diff := cmp.Diff(map[string]plan.UnitState{"a/agent": "added", "b/agent": "added"}, states(report)); diff != "" {
		t.Error(diff)
	}
	config := r.show("a/agent/agent-config.secret.yaml")
	if strings.Contains(config, "a/bad") || !strings.Contains(config, "a/web") {
		t.Errorf("configuration:\n%s", config)
	}
}

func TestOnInvalidFail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pipeline.Spec.OnInvalid = pipeline.OnInvalidFail
	r.commit("good", twoTeams())
	r.pass()
	before := r.out("rev-parse", "env")
	r.commit("bad", map[string]string{"in/a/web.yaml": "{", "in/b/web.yaml": monitor("b", "web", "changed")})
	if report := r.pass(); report.Commit != "" || report.Refused == nil || r.out("rev-parse", "env") != before {
		t.Errorf("%+v", report)
	}
}

func TestPausedUnitStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	before := r.tree("a/agent")
	r.commit("pause", map[string]string{
		"in/a/agent.yaml": strings.Replace(agent("a"), "spec:\n  metrics", "spec:\n  paused: true\n  metrics", 1),
		"in/a/web.yaml":   monitor("a", "web", "other"),
	})
	report := r.pass()
	if states(report)["a/agent"] != "paused" || r.tree("a/agent") != before {
		t.Errorf("%v", states(report))
	}
}

func TestImmutableFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	before := r.tree("a/agent")
	storage := `spec:
  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}
  metrics`
	r.commit("storage", map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "spec:\n  metrics", storage,
		1)})
	report := r.pass()
	if diff := cmp.Diff([]string{"immutable-field"}, codes(report, diag.Error)); diff != "" {
		t.Error(diff)
	}
	if r.tree("a/agent") != before {
		t.Error("the folder changed")
	}
}

func TestDeletionGuard(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, ns := range []string{"a", "b", "c"} {
		files["in/"+ns+"/agent.yaml"] = agent(ns)
	}
	setup := func(t *testing.T) (*rig, string) {
		r := newRig(t)
		r.commit("three", files)
		r.pass()
		return r, r.commit("only one", map[string]string{"in/a/agent.yaml": "", "in/b/agent.yaml": ""})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		r, id := setup(t)
		before := r.out("rev-parse", "env")
		report := r.pass()
		if diff := cmp.Diff([]string{"deletion-guard"}, codes(report, diag.Error)); diff != "" ||
			r.out("rev-parse", "env") != before {
			t.Errorf("%s", diff)
		}
		if d := report.Diags[0]; !strings.Contains(d.Hint, id) {
			t.Errorf("the hint does not name the commit: %s", d.Hint)
		}
		r.options.AllowDeletions = id
		if report := r.pass(); report.Commit == "" {
			t.Errorf("not allowed: %v", report.Diags)
		}
	})
	t.Run("limits.allowFor", func(t *testing.T) {
		t.Parallel()
		r, id := setup(t)
		r.pipeline.Spec.Limits.AllowFor = id
		if report := r.pass(); report.Commit == "" {
			t.Errorf("not allowed: %v", report.Diags)
		}
	})
	t.Run("trailer", func(t *testing.T) {
		t.Parallel()
		r, _ := setup(t)
		r.commit("Remove teams\n\nAgentry-Allow-Deletions: true", nil)
		if report := r.pass(); report.Commit == "" {
			t.Errorf("not allowed: %v", report.Diags)
		}
	})
	t.Run("empty render", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		files := twoTeams()
		files["in/README.md"] = "x" // a folder that is gone is no deletion
		r.commit("two", files)
		r.pass()
		r.commit("none", map[string]string{"in/a/agent.yaml": "", "in/a/web.yaml": "", "in/b/agent.yaml": "",
			"in/b/web.yaml": ""})
		if report := r.pass(); report.Commit != "" ||
			!slices.Equal(codes(report, diag.Error), []string{"empty-input"}) {
			t.Errorf("commit %q, %v", report.Commit, report.Diags)
		}
	})
	t.Run("shards", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		sharded := func(n int) string {
			return strings.Replace(agent("a"), "{instanceSelector: {}}",
				fmt.Sprintf("{instanceSelector: {}, shards: %d}", n), 1)
		}
		r.commit("four", map[string]string{"in/agent.yaml": sharded(4)})
		r.pass()
		r.commit("one", map[string]string{"in/agent.yaml": sharded(1)})
		if diff := cmp.Diff([]string{"deletion-guard"}, codes(r.pass(), diag.Error)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnreachableSource(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := newRig(t)
	r.pipeline.Spec.Sources = append(r.pipeline.Spec.Sources,
		pipeline.Source{URL: "file://" + other.repo.Dir, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in"}})
	r.creds.Sources = make([]transport.Auth, 2)
	r.commit("a", map[string]string{"in/agent.yaml": agent("a")})
	other.commit("b", map[string]string{"in/agent.yaml": agent("b")})
	r.pass()
	if err := os.Rename(other.repo.Dir, other.repo.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	r.commit("a moves", map[string]string{"in/web.yaml": monitor("a", "web", "http")})
	report := r.pass()
	if diff := cmp.Diff([]string{"source-unreachable"}, codes(report, diag.Error)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]plan.UnitState{"a/agent": "changed", "b/agent": "unchanged"},
		states(report)); diff != "" {
		t.Error(diff)
	}
	if !report.Sources[1].Stale {
		t.Error("the source does not count as stale")
	}
	r.options.CacheDir = t.TempDir()
	if _, err := r.syncer().Pass(context.Background()); err == nil {
		t.Error("a source that was never seen did not stop the pass")
	}
}

func TestInputForcePushed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.syncer()
	base := r.commit("one", twoTeams())
	r.commit("two", map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	r.passOf(s)
	r.git("reset", "-q", "--hard", base)
	r.commit("three", map[string]string{"in/b/web.yaml": monitor("b", "web", "rewritten")})
	r.passOf(s)
	if text := r.show("a/agent/agent-config.secret.yaml"); strings.Contains(text, "other") {
		t.Error("the change that was rewritten away is still there")
	}
	if text := r.show("b/agent/agent-config.secret.yaml"); !strings.Contains(text, "rewritten") {
		t.Error("the new change is missing")
	}
}

// TestMissingPath is a path that the pipeline names and the source does not have: nothing
// counts as deleted, and a first pass writes nothing.
func TestMissingPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	good := r.pipeline.Spec.Sources[0].Paths
	r.pipeline.Spec.Sources[0].Paths = []string{"inn"}
	report := r.pass()
	if diff := cmp.Diff([]string{"source-path-missing"}, codes(report, diag.Error)); diff != "" || report.Commit != "" {
		t.Errorf("first pass: commit %q, errors %s", report.Commit, diff)
	}
	r.pipeline.Spec.Sources[0].Paths = good
	r.pass()
	r.pipeline.Spec.Sources[0].Paths = []string{"in/a", "in/c"}
	report = r.pass()
	if diff := cmp.Diff(map[string]plan.UnitState{"a/agent": "unchanged", "b/agent": "held"}, states(report)); diff !=
		"" {
		t.Error(diff)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.options.DryRun = true
	report := r.pass()
	if out := r.out("for-each-ref"); strings.Contains(out, "env") || report.Commit != "" {
		t.Errorf("something was pushed:\n%s", out)
	}
	i := slices.IndexFunc(report.Changes, func(c plan.FileChange) bool {
		return c.Path == "a/agent/agent-config.secret.yaml"
	})
	if i < 0 || report.Changes[i].Op != "added" || report.Difference.Summary() != "6 objects added" {
		t.Errorf("%+v", report.Changes)
	}
}

// TestTheCommitSaysWhatChanges holds that the message of a commit has what follows from it, above the trailers.
func TestTheCommitSaysWhatChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	files := twoTeams()
	files["in/a/agent.yaml"] = strings.Replace(files["in/a/agent.yaml"], "http://mimir/push", "http://elsewhere/push",
		1)
	r.commit("two", files)
	report := r.pass()
	message := r.out("log", "-1", "--format=%B", report.Commit)
	_, said, _ := strings.Cut(message, ": two\n\n")
	const want = `1 object changed

pods reload their configuration, without a restart:
- StatefulSet a/agent

stops sending:
- instance a/main: to http://mimir/push

starts sending:
- instance a/main: to http://elsewhere/push

Agentry-Source-Repo: `
	if !strings.HasPrefix(said, want) {
		t.Errorf("message:\n%s", message)
	}
	if report.Difference != nil {
		t.Error("a pass that pushes keeps the difference")
	}
}

func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.syncer().Pass(context.Background())
	if !errors.Is(err, repo.ErrEmptyRepository) {
		t.Errorf("%v", err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	files := twoTeams()
	files["in/a/agent.yaml"] = strings.Replace(agent("a"), `url: "http://mimir/push"`,
		`url: "http://mimir/push", basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}`, 1)
	files["in/a/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: a}\n" +
		"stringData: {u: me, p: hunter2}\n"
	r.commit("one", files)
	r.pass()
	if !strings.Contains(r.show("a/agent/agent-secrets.secret.yaml"), "_secrets_a_s_p: aHVudGVyMg==") {
		t.Error("the policy plaintext did not copy the Secret")
	}
	r.pipeline.Spec.Secrets.Policy = secretref.Reference
	r.commit("break", map[string]string{"in/a/agent.yaml": strings.Replace(files["in/a/agent.yaml"], "spec:\n  metrics",
		"spec:\n  paused: true\n  metrics", 1)})
	if diff := cmp.Diff([]string{"secrets-held"}, codes(r.pass(), diag.Error)); diff != "" {
		t.Error(diff)
	}
	r.commit("mend", files)
	r.pass()
	if out := r.out("grep", "-l", "-e", "aHVudGVyMg", "-e", "hunter2", "main"); !strings.Contains(out,
		"main:in/a/secret.yaml") {
		t.Errorf("the search for the secret does not work: %s", out)
	}
	for _, f := range r.files() {
		if text := r.show(f); strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("%s holds the secret", f)
		}
	}
}
