// Package agentrycheck lets gitops-promoter read what agentry proposes: its own code clones
// the repository, finds drySha of both branches, reads the notes and looks for conflicts.
package agentrycheck

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj-labs/gitops-promoter/api/v1alpha1"
	"github.com/argoproj-labs/gitops-promoter/internal/git"
)

// provider is a repository on this machine.
type provider struct{ dir string }

func (p provider) GetGitHttpsRepoUrl(v1alpha1.GitRepository) string { return "file://" + p.dir }
func (p provider) GetToken(context.Context) (string, error)         { return "", nil }
func (p provider) GetUser(context.Context) (string, error)          { return "", nil }

// testbed is a repository with an input branch, and the program that renders it.
type testbed struct {
	t       *testing.T
	agentry string
	bare    string
	work    string // a clone of main
	path    string // of the output; empty: the root
	file    string // the pipeline
}

func newTestbed(t *testing.T, agentry, path string) *testbed {
	w := &testbed{t: t, agentry: agentry, bare: filepath.Join(t.TempDir(), "fleet.git"), work: t.TempDir(), path: path}
	w.git(".", "init", "-q", "--bare", "--initial-branch=main", w.bare)
	w.git(w.work, "init", "-q", "--initial-branch=main", ".")
	w.file = filepath.Join(t.TempDir(), "pipeline.yaml")
	pipeline := fmt.Sprintf(`apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: dev}
spec:
  sources: [{url: "file://%s", ref: {branch: main}, paths: [in]}]
  output: {branch: environment/dev, path: %q, promotion: {mode: next}}
`, w.bare, path)
	if path == "" {
		pipeline = strings.Replace(pipeline, `path: "", `, "", 1)
	}
	if err := os.WriteFile(w.file, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *testbed) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann",
		"GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// sync commits an input and lets agentry render it.
func (w *testbed) sync(subject, port string) (input string) {
	w.t.Helper()
	text := fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: a}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: a}
spec: {serviceMonitorSelector: {}, remoteWrite: [{url: "http://mimir/push"}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: a}
spec: {selector: {matchLabels: {app: web}}, endpoints: [{port: %s}]}
`, port)
	if err := os.MkdirAll(filepath.Join(w.work, "in"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.work, "in", "a.yaml"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.git(w.work, "add", "-A")
	w.git(w.work, "commit", "-q", "--allow-empty", "-m", subject+"\n\nMore words.")
	w.git(w.work, "push", "-q", w.bare, "main")
	w.pass()
	return w.git(w.work, "rev-parse", "HEAD")
}

func (w *testbed) pass() {
	w.t.Helper()
	out, err := exec.Command(w.agentry, "sync", "-f", w.file, "--cache-dir", w.t.TempDir()).CombinedOutput()
	if err != nil {
		w.t.Fatalf("agentry sync: %v\n%s", err, out)
	}
}

// merge promotes what is proposed.
func (w *testbed) merge(proposed string) {
	w.t.Helper()
	dir := w.t.TempDir()
	w.git(dir, "clone", "-q", "-b", "environment/dev", w.bare, ".")
	w.git(dir, "merge", "-q", "--no-ff", "-m", "Promote", "origin/"+proposed)
	w.git(dir, "push", "-q", "origin", "environment/dev")
}

// state is what gitops-promoter sees.
type state struct {
	active, proposed git.BranchShas
	dry              v1alpha1.CommitShaState
	note             string
}

// look makes gitops-promoter look at the repository anew.
func (w *testbed) look() state {
	w.t.Helper()
	ctx := w.t.Context()
	repo := &v1alpha1.GitRepository{}
	repo.Name = "fleet"
	at := git.NewEnvironmentOperations(repo, provider{w.bare}, w.t.TempDir())
	check := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	check(at.CloneRepo(ctx))
	w.t.Cleanup(func() { _ = os.RemoveAll(at.ClonePath()) })
	check(at.FetchNotes(ctx))
	var s state
	var err error
	s.proposed, err = at.GetBranchShas(ctx, w.proposed(), w.path, "")
	check(err)
	s.active, err = at.GetBranchShas(ctx, "environment/dev", w.path, "")
	check(err)
	s.dry, err = at.GetShaMetadataFromFile(ctx, s.proposed.Hydrated, w.path)
	check(err)
	note, err := at.GetHydratorNote(ctx, s.proposed.Hydrated)
	check(err)
	if note == nil {
		w.t.Fatalf("no note on %s", s.proposed.Hydrated)
	}
	s.note = note.DrySha
	conflict, err := at.HasConflict(ctx, w.proposed(), "environment/dev")
	check(err)
	if conflict {
		w.t.Error("what is proposed conflicts with the active branch")
	}
	return s
}

// proposed is the branch as gitops-promoter's controller names it.
func (w *testbed) proposed() string {
	if w.path == "" {
		return "environment/dev-next"
	}
	return "environment/dev-next/" + w.path
}

// TestPromoterReadsProposals goes through promotions at the root of a branch and below a path,
// gitops-promoter's activePath.
func TestPromoterReadsProposals(t *testing.T) {
	agentry := filepath.Join(t.TempDir(), "agentry")
	build := exec.Command("go", "build", "-o", agentry, "./cmd/agentry")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range []string{"", "apps/a"} {
		t.Run("path "+path, func(t *testing.T) { testProposals(newTestbed(t, agentry, path)) })
	}
}

func testProposals(w *testbed) {
	t := w.t
	input := w.sync("Add a team", "http")
	first := w.look()
	if first.active.Dry != "" || first.proposed.Dry == "" || first.note != first.proposed.Dry {
		t.Fatalf("before the first promotion: %+v", first)
	}
	if first.dry.Sha != first.proposed.Dry || first.dry.Subject != "Add a team" ||
		first.dry.Author != "Ann <ann@example.com>" || first.dry.Body != "More words." ||
		first.dry.CommitTime.IsZero() {
		t.Errorf("the dry commit is %+v", first.dry)
	}
	if len(first.dry.References) != 1 || first.dry.References[0].Commit.Sha != input ||
		first.dry.References[0].Commit.Subject != "Add a team" {
		t.Errorf("references are %+v", first.dry.References)
	}
	if w.git(w.bare, "cat-file", "-t", first.proposed.Dry) != "commit" {
		t.Error("drySha is no commit of the repository that gitops-promoter links to")
	}

	// Promoted: both branches name the same, so no pull request is open.
	w.merge(w.proposed())
	w.pass()
	merged := w.look()
	if merged.active != merged.proposed || merged.active.Dry != first.proposed.Dry || merged.note != first.note {
		t.Errorf("after the promotion: %+v", merged)
	}

	// Inputs that change nothing: the note alone says that they are processed.
	w.sync("Change nothing", "http")
	nothing := w.look()
	if nothing.proposed != merged.proposed || nothing.note == merged.note {
		t.Errorf("after inputs that change nothing: %+v, before %+v", nothing, merged)
	}

	// A change: another drySha, on which the note agrees.
	w.sync("Change a port", "https")
	changed := w.look()
	if changed.proposed.Dry == changed.active.Dry || changed.note != changed.proposed.Dry ||
		changed.dry.Subject != "Change a port" {
		t.Errorf("after a change: %+v", changed)
	}
}
