package gitsync_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// rig is a pipeline over a real bare repository, driven with the git binary.
type rig struct {
	t        *testing.T
	repo     *gittest.Repo
	work     string // a clone, on branch main
	pipeline pipeline.Pipeline
	creds    gitsync.Credentials
	options  gitsync.Options
	commits  int
	trusted  string // a line of allowed_signers
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, repo: gittest.NewRepo(t), work: t.TempDir()}
	r.git("init", "-q", "-b", "main", ".")
	r.git("remote", "add", "origin", r.repo.Dir)
	r.pipeline = pipeline.Pipeline{
		APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Metadata: pipeline.Metadata{Name: "test"},
		Spec: pipeline.Spec{
			Sources: []pipeline.Source{{URL: "file://" + r.repo.Dir, Ref: pipeline.Ref{Branch: "main"},
				Paths: []string{"in"}}},
			Output: pipeline.Output{Branch: "env"},
		},
	}
	r.creds = gitsync.Credentials{Sources: make([]transport.Auth, 1)}
	r.options = gitsync.Options{CacheDir: t.TempDir(), Version: "v0.0.0-test"}
	return r
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	return r.gitIn(r.work, args...)
}

func (r *rig) gitIn(dir string, args ...string) string {
	r.t.Helper()
	return r.gitWith(dir, nil, args...)
}

func (r *rig) gitWith(dir string, env []string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), gittest.Env()...), env...)
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
	r.t.Cleanup(s.Close)
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

// payload are the manifests of a folder and their hashes.
func (r *rig) payload(dir string) string {
	r.t.Helper()
	return r.out("ls-tree", "env:"+dir, "kustomization.yaml", "agent-config.secret.yaml", "agent-operated.service.yaml",
		"agent.statefulset.yaml")
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

func states(report *gitsync.Report) map[string]plan.UnitState {
	out := map[string]plan.UnitState{}
	for _, u := range report.Units {
		out[u.Name] = u.State
	}
	return out
}
