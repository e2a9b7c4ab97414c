package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync"
)

// TestStagesOfAPass: what a pass was at, from its beginning to its end, and no more than it was.
func TestStagesOfAPass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	s := l.syncer()
	check := func(what string, report *gitsync.Report, want string) {
		t.Helper()
		var names []string
		for i, stage := range report.Stages {
			names = append(names, stage.Name)
			if stage.Ended.Before(stage.Began) || i > 0 && stage.Began.Before(report.Stages[i-1].Ended) {
				t.Errorf("%s: %+v", what, report.Stages)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("the first", l.passOf(s), "fetch wait render push")
	check("nothing to push", l.passOf(s), "fetch wait render")
	again := l.passOf(s)
	check("nothing moved", again, "fetch")
	if l.passOf(s).Stages[0].Began.Equal(again.Stages[0].Began) {
		t.Error("a pass has the times of an earlier one")
	}
	l.options.DryRun = true
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	check("a dry one", l.pass(), "fetch wait render")
}
