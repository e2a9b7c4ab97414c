package gitsync_test

import (
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// TestASourceThatStaysSaysTheRemedy of what keeps it from moving on.
func TestASourceThatStaysSaysTheRemedy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.remote.host.add("other")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{URL: other.url, Ref: pipeline.Ref{Branch: "main"}})
	l.input(map[string]string{"in/a/agent.yaml": agent("a")})
	other.commit("main", tree{"agent.yaml": {text: agent("b")}}, 1, "b")
	l.pass()
	delete(other.refs, "refs/heads/main")
	other.commit("other", tree{}, 2, "c")
	report := l.pass()
	for _, d := range report.Diags {
		if d.Code == "source-unreachable" && d.Hint == pipeline.Remedy(transport.ErrRefNotFound) {
			return
		}
	}
	t.Errorf("%v", report.Diags)
}
