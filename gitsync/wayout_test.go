package gitsync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

func TestWayOut(t *testing.T) {
	for err, want := range map[error]string{
		repo.ErrAuth: "credential", repo.ErrHostKey: "knownHostsFile", repo.ErrRepositoryNotFound: "url", repo.ErrRefNotFound: "ref",
		repo.ErrEmptyRepository: "first commit", repo.ErrRejected: "push", repo.ErrCache: "--cache-dir", repo.ErrUnreachable: "", errors.New("other"): "",
	} {
		got := gitsync.WayOut(fmt.Errorf("fetch x: %w", err))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestASourceThatStaysSaysTheWayOut of what keeps it from moving on.
func TestASourceThatStaysSaysTheWayOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.remote.host.add("other")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources, gitsync.Source{URL: other.url, Ref: gitsync.Ref{Branch: "main"}})
	l.input(map[string]string{"in/a/agent.yaml": agent("a")})
	other.commit("main", tree{"agent.yaml": {text: agent("b")}}, 1, "b")
	l.pass()
	delete(other.refs, "refs/heads/main")
	other.commit("other", tree{}, 2, "c")
	report := l.pass()
	for _, d := range report.Diags {
		if d.Code == "source-unreachable" && d.Hint == gitsync.WayOut(repo.ErrRefNotFound) {
			return
		}
	}
	t.Errorf("%v", report.Diags)
}
