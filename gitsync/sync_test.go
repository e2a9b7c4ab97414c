package gitsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

func TestFirstPass(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	source := r.repo.Git("commit-tree", "-m", "Add teams", "-m", "More words.", "main^{tree}")
	r.repo.Git("update-ref", "refs/heads/main", source)
	report := r.pass()
	if report.Commit == "" || len(report.Diags) > 0 || report.Difference != nil {
		t.Fatalf("no commit, or %v, or its difference is kept", report.Diags)
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
	if diff := cmp.Diff(want, strings.Fields(r.repo.Git("ls-tree", "-r", "--name-only", "env"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if head := r.repo.Git("rev-parse", "env"); head != report.Commit {
		t.Errorf("branch is at %s, the report says %s", head, report.Commit)
	}
	if text := r.file("a/agent/agent-config.secret.yaml"); !strings.Contains(text, "serviceMonitor/a/web/0") {
		t.Errorf("the configuration lacks the monitor:\n%s", text)
	}
	message := r.repo.Git("log", "-1", "--format=%B", "env")
	for _, line := range []string{source[:7] + ": Add teams", "Agentry-Source-Commit: " + source,
		"Agentry-Version: v0.0.0-test"} {
		if !strings.Contains(message, line) {
			t.Errorf("message lacks %q:\n%s", line, message)
		}
	}
	if date := r.repo.Git("log", "-1", "--format=%at %ct", "env"); date != "1700000000 1700000000" {
		t.Errorf("dates %s are not the input commit's", date)
	}
	if refs := r.repo.Git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/env\nrefs/heads/main" {
		t.Errorf("refs are\n%s", refs)
	}
	if meta := r.file("hydrator.metadata"); !strings.Contains(meta, `"drySha": "`+source+`"`) ||
		!strings.Contains(meta, `"body": "More words."`) {
		t.Errorf("hydrator.metadata:\n%s", meta)
	}
	r.repo.Fsck()
	if again := r.pass(); again.Commit != "" || len(again.Changes) > 0 {
		t.Errorf("the second pass made %+v", again)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	l.options.DryRun = true
	report := l.pass()
	if !l.remote.tip("env").IsZero() || report.Commit != "" {
		t.Errorf("something was pushed: %s", report.Commit)
	}
	i := slices.IndexFunc(report.Changes, func(c plan.FileChange) bool {
		return c.Path == "a/agent/agent-config.secret.yaml"
	})
	if i < 0 || report.Changes[i].Op != "added" || report.Difference.Summary() != "6 objects added" {
		t.Errorf("%+v", report.Changes)
	}
}

func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	_, err := r.syncer().Pass(context.Background())
	if !errors.Is(err, repo.ErrEmptyRepository) {
		t.Errorf("%v", err)
	}
}
