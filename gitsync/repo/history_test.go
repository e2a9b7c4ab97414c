package repo_test

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestHasCommit asks for commits in the cache. A forced push has removed one of them from the remote.
func TestHasCommit(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{"true", "false"} {
		t.Run("allowed "+allowed, func(t *testing.T) {
			t.Parallel()
			g := gittest.NewRepo(t)
			g.Git("config", "uploadpack.allowAnySHA1InWant", allowed)
			old := g.Commit("main", map[string]string{"a.yaml": "1"})
			away := g.Commit("main", map[string]string{"a.yaml": "2"})
			for name, remote := range remotes(t, g) {
				r := open(t, remote, repo.Options{Depth: 1})
				fetch(t, r, repo.Ref{})
				g.Git("update-ref", "refs/heads/main", old)
				g.Commit("main", map[string]string{"a.yaml": "3"})
				fetch(t, r, repo.Ref{})
				has := func(commit string) bool {
					t.Helper()
					ok, err := r.HasCommit(testContext(t), repo.Ref{Commit: commit, Branch: "main"})
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					return ok
				}
				if !has(old) {
					t.Errorf("%s: a commit of the branch is not given", name)
				}
				if has(away) != (allowed == "true") {
					t.Errorf("%s: what was forced away is given: %v", name, has(away))
				}
				fetch(t, r, repo.Ref{Commit: away}) // the cache still has it
				r.Close()
				g.Git("update-ref", "refs/heads/main", away)
			}
			g.Git("update-ref", "refs/heads/main", old)
			g.Git("reflog", "expire", "--expire=now", "--all")
			g.Git("gc", "-q", "--prune=now")
			for name, remote := range remotes(t, g) {
				if ok, err := open(t, remote, repo.Options{}).HasCommit(testContext(t),
					repo.Ref{Commit: away, Branch: "main"}); ok || err != nil {
					t.Errorf("%s: what the remote lost is given: %v", name, err)
				}
			}
		})
	}
}

// TestIsAncestor begins with one commit of the history in the cache.
func TestIsAncestor(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	g.Commit("main", map[string]string{"a.yaml": "2"})
	head := g.Commit("main", map[string]string{"a.yaml": "3"})
	g.Git("branch", "side", old)
	side := g.Commit("side", map[string]string{"a.yaml": "4"})
	for name, remote := range remotes(t, g) {
		r := open(t, remote, repo.Options{Depth: 1})
		fetch(t, r, repo.Ref{Branch: "main"})
		for commit, want := range map[string]bool{head: true, old: true, side: false} {
			got, err := r.IsAncestor(testContext(t), plumbing.NewHash(commit), plumbing.NewHash(head))
			if err != nil || got != want {
				t.Errorf("%s: %s: %v, %v, want %v", name, commit, got, err, want)
			}
		}
	}
}
