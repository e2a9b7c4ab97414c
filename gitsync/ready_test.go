package gitsync_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

func TestReady(t *testing.T) {
	out := gitsync.OutputReport{Branch: "env", Before: "1234"}
	for name, c := range map[string]struct {
		report gitsync.Report
		want   string
	}{
		"pushed":     {gitsync.Report{Output: out, Commit: "5678"}, "True Succeeded rendered to env@sha1:5678"},
		"up to date": {gitsync.Report{Output: out}, "True Succeeded env@sha1:1234 is up to date"},
		"proposed": {gitsync.Report{Output: out, Proposed: &gitsync.Proposal{Branch: "env-next", Base: "1234", Commit: "5678"}},
			"True Succeeded proposed as env-next@sha1:5678, not merged into env yet"},
		"nothing to propose": {gitsync.Report{Output: out, Proposed: &gitsync.Proposal{Branch: "env-next", Base: "1234", Commit: "1234"}},
			"True Succeeded env@sha1:1234 is up to date"},
		"dry run": {gitsync.Report{Output: out, DryRun: true, Changes: make([]plan.FileChange, 2)}, "True Succeeded 2 files would change"},
		"held": {gitsync.Report{Output: out, Commit: "5678", Diags: diag.List{{Severity: diag.Error}}, Units: []gitsync.UnitReport{{State: plan.UnitHeld}}},
			"False BuildFailed errors: 1, objects held or left out: 0, units held or left out: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := c.report.Ready()
			if got := string(c2.Status) + " " + c2.Reason + " " + c2.Message; got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
