package gitsync_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

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
		if diff := cmp.Diff([]string{"adoption-collision"}, codes(report, diag.Error)); diff != "" ||
			report.Commit != "" {
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
	if again := r.passOf(s); again.Commit == "" ||
		!strings.Contains(r.show("a/agent/agent-config.secret.yaml"), "other") {
		t.Errorf("after the rewind: %+v", again)
	}
}
