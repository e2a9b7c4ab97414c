package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/gittest"
)

// rig is a pipeline over a real bare repository, driven with the git binary.
type rig struct {
	t        *testing.T
	repo     *gittest.Repo
	work     string // a clone, on branch main
	pipeline gitsync.Pipeline
	creds    gitsync.Credentials
	options  gitsync.Options
	commits  int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, repo: gittest.NewRepo(t), work: t.TempDir()}
	r.git("init", "-q", "-b", "main", ".")
	r.git("remote", "add", "origin", r.repo.Dir)
	r.pipeline = gitsync.Pipeline{
		APIVersion: gitsync.APIVersion, Kind: gitsync.Kind, Metadata: gitsync.Metadata{Name: "test"},
		Spec: gitsync.PipelineSpec{
			Sources: []gitsync.Source{{URL: "file://" + r.repo.Dir, Ref: gitsync.Ref{Branch: "main"}, Paths: []string{"in"}}},
			Output:  gitsync.Output{Branch: "env"},
		},
	}
	r.creds = gitsync.Credentials{Sources: make([]repo.Auth, 1)}
	r.options = gitsync.Options{CacheDir: t.TempDir(), Version: "v0.0.0-test"}
	return r
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	return r.gitIn(r.work, args...)
}

func (r *rig) gitIn(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gittest.Env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files (nil content removes) and pushes them to main.
func (r *rig) commit(message string, files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		name = filepath.Join(r.work, name)
		if content == "" {
			if err := os.Remove(name); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.commits++
	r.git("add", "-A")
	date := fmt.Sprintf("2026-01-02T03:%02d:00Z", r.commits)
	cmd := exec.Command("git", "commit", "-q", "--allow-empty", "-m", message, "--date", date)
	cmd.Dir = r.work
	cmd.Env = append(append(os.Environ(), gittest.Env()...), "GIT_COMMITTER_DATE="+date)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git commit: %v\n%s", err, out)
	}
	r.git("push", "-q", "-f", "origin", "main")
	return r.git("rev-parse", "HEAD")
}

func (r *rig) syncer() *gitsync.Syncer {
	r.t.Helper()
	p := r.pipeline
	p.Spec.Sources = slices.Clone(p.Spec.Sources)
	p.Default()
	if problems := p.Validate(); len(problems) > 0 {
		r.t.Fatal(problems)
	}
	s, err := gitsync.New(p, r.creds, r.options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

// pass makes a one-shot pass.
func (r *rig) pass() *gitsync.Report {
	r.t.Helper()
	return r.passOf(r.syncer())
}

func (r *rig) passOf(s *gitsync.Syncer) *gitsync.Report {
	r.t.Helper()
	report, err := s.Pass(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// out runs git in the bare repository.
func (r *rig) out(args ...string) string {
	r.t.Helper()
	return r.gitIn(r.repo.Dir, args...)
}

func (r *rig) files() []string {
	r.t.Helper()
	return strings.Fields(r.out("ls-tree", "-r", "--name-only", "env"))
}

func (r *rig) show(name string) string {
	r.t.Helper()
	return r.out("show", "env:"+name)
}

func (r *rig) tree(name string) string {
	r.t.Helper()
	return r.out("rev-parse", "env:"+name)
}

func codes(report *gitsync.Report, severity diag.Severity) []string {
	var out []string
	for _, d := range report.Diags {
		if d.Severity == severity {
			out = append(out, string(d.Code))
		}
	}
	return out
}

func states(report *gitsync.Report) map[string]gitsync.UnitState {
	out := map[string]gitsync.UnitState{}
	for _, u := range report.Units {
		out[u.Name] = u.State
	}
	return out
}

func agent(ns string) string {
	return fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: %[1]s}
spec:
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: %[1]s}
spec:
  serviceMonitorSelector: {}
  remoteWrite: [{url: "http://mimir/push"}]
`, ns)
}

func monitor(ns, name, port string) string {
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: %s, namespace: %s}
spec:
  selector: {matchLabels: {app: %s}}
  endpoints: [{port: %s}]
`, name, ns, name, port)
}

// twoTeams is an input of two units with one monitor each.
func twoTeams() map[string]string {
	return map[string]string{
		"in/a/agent.yaml": agent("a"), "in/a/web.yaml": monitor("a", "web", "http"),
		"in/b/agent.yaml": agent("b"), "in/b/web.yaml": monitor("b", "web", "http"),
	}
}

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
		"a/agent/.agentry/inventory", "a/agent/agent-config.secret.yaml", "a/agent/agent-operated.service.yaml",
		"a/agent/agent.statefulset.yaml", "a/agent/hydrator.metadata", "a/agent/kustomization.yaml",
		"b/agent/.agentry/inventory", "b/agent/agent-config.secret.yaml", "b/agent/agent-operated.service.yaml",
		"b/agent/agent.statefulset.yaml", "b/agent/hydrator.metadata", "b/agent/kustomization.yaml",
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
	for _, line := range []string{source[:7] + ": Add teams", "Agentry-Source-Commit: " + source, "Agentry-Version: v0.0.0-test"} {
		if !strings.Contains(message, line) {
			t.Errorf("message lacks %q:\n%s", line, message)
		}
	}
	if date := r.out("log", "-1", "--format=%aI %cI", "env"); date != "2026-01-02T03:01:00Z 2026-01-02T03:01:00Z" &&
		date != "2026-01-02T03:01:00+00:00 2026-01-02T03:01:00+00:00" {
		t.Errorf("dates %s are not the input commit's", date)
	}
	if note := r.out("notes", "--ref", "hydrator.metadata", "show", "env"); note != `{"drySha":"`+source+`"}` {
		t.Errorf("note is %s", note)
	}
	if meta := r.show("hydrator.metadata"); !strings.Contains(meta, `"drySha": "`+source+`"`) || !strings.Contains(meta, `"body": "More words."`) {
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
			if diff := cmp.Diff(map[string]gitsync.UnitState{"a/agent": "changed", "b/agent": "unchanged"}, states(report)); diff != "" {
				t.Error(diff)
			}
			if r.tree("b") != before {
				t.Error("the folder of b changed")
			}
			changed := r.out("diff", "--name-only", "env~1", "env")
			if diff := cmp.Diff(".agentry/inventory\na/agent/.agentry/inventory\na/agent/agent-config.secret.yaml\na/agent/hydrator.metadata\nhydrator.metadata", changed); diff != "" {
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
	r.out("update-ref", "-d", "refs/notes/hydrator.metadata")
	r.options.CacheDir = t.TempDir()
	if second := r.pass(); second.Commit != first.Commit {
		t.Errorf("%s and %s", first.Commit, second.Commit)
	}
}

func TestBadUnitIsHeld(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]map[string]string{
		"invalid field":      {"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), "port: http", "port: 80", 1)},
		"error in rendering": {"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), "port: http", "port: http, interval: 1s, scrapeTimeout: 2s", 1)},
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
			before := r.tree("a/agent")
			if name == "symlink" {
				if err := os.Symlink("/etc/passwd", filepath.Join(r.work, "in/a/link.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			bad["in/b/web.yaml"] = monitor("b", "web", "changed")
			r.commit("bad", bad)
			report := r.pass()
			if diff := cmp.Diff(map[string]gitsync.UnitState{"a/agent": "held", "b/agent": "changed"}, states(report)); diff != "" {
				t.Errorf("%s\n%v", diff, report.Diags)
			}
			if !report.Diags.HasErrors() {
				t.Error("no error is reported")
			}
			if r.tree("a/agent") != before {
				t.Error("the held folder changed")
			}
			if !strings.Contains(r.show("b/agent/agent-config.secret.yaml"), "changed") {
				t.Error("the good unit did not move on")
			}
			if again := r.pass(); again.Commit != "" || states(again)["a/agent"] != "held" {
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
			if states(report)["a/agent"] != "changed" || len(report.Diags) > 0 {
				t.Errorf("after the fix: %v %v", states(report), report.Diags)
			}
		})
	}
}

func TestFirstRunLeavesTheBadObjectOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	files := twoTeams()
	files["in/a/bad.yaml"] = strings.Replace(monitor("a", "bad", "http"), "port: http", "port: http, interval: 1s, scrapeTimeout: 2s", 1)
	files["in/a/broken.yaml"] = "{"
	r.commit("one", files)
	report := r.pass()
	if diff := cmp.Diff(map[string]gitsync.UnitState{"a/agent": "added", "b/agent": "added"}, states(report)); diff != "" {
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
	r.pipeline.Spec.OnInvalid = gitsync.OnInvalidFail
	r.commit("good", twoTeams())
	r.pass()
	before := r.out("rev-parse", "env")
	r.commit("bad", map[string]string{"in/a/web.yaml": "{", "in/b/web.yaml": monitor("b", "web", "changed")})
	if report := r.pass(); report.Commit != "" || !report.Diags.HasErrors() || r.out("rev-parse", "env") != before {
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
	r.commit("storage", map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "spec:\n  metrics", storage, 1)})
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
		if diff := cmp.Diff([]string{"deletion-guard"}, codes(report, diag.Error)); diff != "" || r.out("rev-parse", "env") != before {
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
		r.commit("none", map[string]string{"in/a/agent.yaml": "", "in/a/web.yaml": "", "in/b/agent.yaml": "", "in/b/web.yaml": ""})
		if diff := cmp.Diff([]string{"deletion-guard"}, codes(r.pass(), diag.Error)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("shards", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		sharded := func(n int) string {
			return strings.Replace(agent("a"), "{instanceSelector: {}}", fmt.Sprintf("{instanceSelector: {}, shards: %d}", n), 1)
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
	r.pipeline.Spec.Sources = append(r.pipeline.Spec.Sources, gitsync.Source{URL: "file://" + other.repo.Dir, Ref: gitsync.Ref{Branch: "main"}, Paths: []string{"in"}})
	r.creds.Sources = make([]repo.Auth, 2)
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
	if diff := cmp.Diff(map[string]gitsync.UnitState{"a/agent": "changed", "b/agent": "unchanged"}, states(report)); diff != "" {
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

func TestOutputOfOthers(t *testing.T) {
	t.Parallel()
	foreign := func(t *testing.T, files map[string]string) *rig {
		r := newRig(t)
		r.commit("one", twoTeams())
		dir := t.TempDir()
		r.gitIn(dir, "init", "-q", "-b", "env", ".")
		for name, content := range files {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r.gitIn(dir, "add", "-A")
		r.gitIn(dir, "commit", "-q", "-m", "theirs")
		r.gitIn(dir, "push", "-q", r.repo.Dir, "env")
		return r
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		r := foreign(t, map[string]string{"theirs.txt": "x"})
		if diff := cmp.Diff([]string{"adoption-refused"}, codes(r.pass(), diag.Error)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		r := foreign(t, map[string]string{"README.md": "theirs", "a/agent/extra.yaml": "x: y"})
		r.pipeline.Spec.Output.Adopt = true
		if report := r.pass(); report.Commit == "" || len(report.Diags) > 0 {
			t.Fatalf("%v", report.Diags)
		}
		r.pipeline.Spec.Output.Adopt = false
		r.commit("drop a", map[string]string{"in/a/agent.yaml": "", "in/a/web.yaml": ""})
		r.pass()
		if r.show("README.md") != "theirs" || r.show("a/agent/extra.yaml") != "x: y" {
			t.Error("files of others changed")
		}
		if files := r.files(); slices.Contains(files, "a/agent/agent-config.secret.yaml") {
			t.Errorf("our files stayed: %v", files)
		}
	})
	t.Run("collision", func(t *testing.T) {
		t.Parallel()
		r := foreign(t, map[string]string{"a/agent/agent-config.secret.yaml": "theirs"})
		r.pipeline.Spec.Output.Adopt = true
		report := r.pass()
		if diff := cmp.Diff([]string{"adoption-collision"}, codes(report, diag.Error)); diff != "" || report.Commit != "" {
			t.Errorf("%s", diff)
		}
		if file := report.Diags[0].File; file != "a/agent/agent-config.secret.yaml" {
			t.Errorf("the error names %s", file)
		}
	})
}

// edit commits to the output branch behind agentry's back.
func (r *rig) edit(files map[string]string) {
	r.t.Helper()
	dir := r.t.TempDir()
	r.gitIn(dir, "clone", "-q", "-b", "env", r.repo.Dir, ".")
	for name, content := range files {
		name = filepath.Join(dir, name)
		if content == "" {
			os.Remove(name)
			continue
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.gitIn(dir, "add", "-A")
	r.gitIn(dir, "commit", "-q", "-m", "by hand")
	r.gitIn(dir, "push", "-q", "origin", "env")
}

func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.syncer()
	r.commit("one", twoTeams())
	r.passOf(s)
	before := r.tree("a/agent/agent.statefulset.yaml")
	r.edit(map[string]string{"a/agent/agent.statefulset.yaml": "edited", "b/agent/agent-operated.service.yaml": ""})
	report := r.passOf(s)
	if diff := cmp.Diff([]string{"drift", "drift"}, codes(report, diag.Warning)); diff != "" {
		t.Error(diff)
	}
	if r.tree("a/agent/agent.statefulset.yaml") != before {
		t.Error("the file was not put back")
	}
}

func TestLostInventory(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string]map[string]string{
		"root": {".agentry/inventory": ""}, "unit": {"a/agent/.agentry/inventory": ""},
		"both": {".agentry/inventory": "", "a/agent/.agentry/inventory": "", "b/agent/.agentry/inventory": "garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.commit("one", twoTeams())
			r.pass()
			r.edit(edits)
			r.commit("two", map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
			if report := r.pass(); report.Commit == "" || report.Diags.HasErrors() {
				t.Errorf("%v", report.Diags)
			}
			if !strings.Contains(r.show("a/agent/agent-config.secret.yaml"), "other") {
				t.Error("the change did not arrive")
			}
		})
	}
}

func TestBranchDeletedOrRewritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.syncer()
	r.commit("one", twoTeams())
	first := r.passOf(s)
	r.out("update-ref", "-d", "refs/heads/env")
	if again := r.passOf(s); again.Commit != first.Commit {
		t.Errorf("after the deletion: %q, first %q", again.Commit, first.Commit)
	}
	r.commit("two", map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	r.passOf(s)
	r.out("update-ref", "refs/heads/env", first.Commit)
	if again := r.passOf(s); again.Commit == "" || !strings.Contains(r.show("a/agent/agent-config.secret.yaml"), "other") {
		t.Errorf("after the rewind: %+v", again)
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
// counts as deleted, and a first run writes nothing.
func TestMissingPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	good := r.pipeline.Spec.Sources[0].Paths
	r.pipeline.Spec.Sources[0].Paths = []string{"inn"}
	report := r.pass()
	if diff := cmp.Diff([]string{"source-path-missing"}, codes(report, diag.Error)); diff != "" || report.Commit != "" {
		t.Errorf("first run: commit %q, errors %s", report.Commit, diff)
	}
	r.pipeline.Spec.Sources[0].Paths = good
	r.pass()
	r.pipeline.Spec.Sources[0].Paths = []string{"in/a", "in/c"}
	report = r.pass()
	if diff := cmp.Diff(map[string]gitsync.UnitState{"a/agent": "unchanged", "b/agent": "held"}, states(report)); diff != "" {
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
	i := slices.IndexFunc(report.Changes, func(c gitsync.FileChange) bool { return c.Path == "a/agent/agent-config.secret.yaml" })
	if i < 0 || report.Changes[i].Op != "added" || report.Changes[i].Insertions < 10 {
		t.Errorf("%+v", report.Changes)
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
	r.pipeline.Spec.Secrets.Policy = gitsync.SecretsPlaintext
	files := twoTeams()
	files["in/a/agent.yaml"] = strings.Replace(agent("a"), `url: "http://mimir/push"`,
		`url: "http://mimir/push", basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}`, 1)
	files["in/a/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: a}\nstringData: {u: me, p: hunter2}\n"
	r.commit("one", files)
	r.pass()
	if !strings.Contains(r.show("a/agent/agent-secrets.secret.yaml"), "_secrets_a_s_p: aHVudGVyMg==") {
		t.Error("the policy plaintext did not copy the Secret")
	}
	r.pipeline.Spec.Secrets.Policy = gitsync.SecretsReference
	r.commit("break", map[string]string{"in/a/agent.yaml": strings.Replace(files["in/a/agent.yaml"], "spec:\n  metrics", "spec:\n  paused: true\n  metrics", 1)})
	if diff := cmp.Diff([]string{"secrets-held"}, codes(r.pass(), diag.Error)); diff != "" {
		t.Error(diff)
	}
	r.commit("mend", files)
	r.pass()
	if out := r.out("grep", "-l", "-e", "aHVudGVyMg", "-e", "hunter2", "main"); !strings.Contains(out, "main:in/a/secret.yaml") {
		t.Errorf("the search for the secret does not work: %s", out)
	}
	for _, f := range r.files() {
		if text := r.show(f); strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("%s holds the secret", f)
		}
	}
}
