package gitsync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
