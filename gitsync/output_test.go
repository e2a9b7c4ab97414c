package gitsync_test

import (
	"strings"
	"testing"
)

func TestBranchDeletedOrRewritten(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	s := r.syncer()
	r.input(twoTeams())
	first := r.passOf(s)
	r.repo.Git("update-ref", "-d", "refs/heads/env")
	if again := r.passOf(s); again.Commit != first.Commit {
		t.Errorf("after the deletion: %q, first %q", again.Commit, first.Commit)
	}
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	r.passOf(s)
	r.repo.Git("update-ref", "refs/heads/env", first.Commit)
	if again := r.passOf(s); again.Commit == "" ||
		!strings.Contains(r.file("a/agent/agent-config.secret.yaml"), "other") {
		t.Errorf("after the rewind: %+v", again)
	}
}
