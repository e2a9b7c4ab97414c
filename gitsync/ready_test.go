package gitsync_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

func TestReady(t *testing.T) {
	out := gitsync.OutputStatus{Branch: "env", Before: "1234"}
	bad := diag.Diagnostic{Severity: diag.Error, File: "a.yaml", Line: 3, Column: 1, Message: "is wrong",
		Hint:   "write it right",
		Object: diag.Object{Kind: "ServiceMonitor", Namespace: "a", Name: "web"}}
	earlier := plan.HeldObject{State: plan.UnitHeld}
	for name, c := range map[string]struct {
		report gitsync.Report
		want   string
	}{
		"pushed":     {gitsync.Report{Output: out, Commit: "5678"}, "True Succeeded rendered to env@sha1:5678"},
		"up to date": {gitsync.Report{Output: out}, "True Succeeded env@sha1:1234 is up to date"},
		"proposed": {gitsync.Report{Output: out,
			Proposed: &gitsync.Proposal{Branch: "env-next", Base: "1234", Commit: "5678"}},
			"True Succeeded proposed as env-next@sha1:5678, not merged into env yet"},
		"nothing to propose": {gitsync.Report{Output: out,
			Proposed: &gitsync.Proposal{Branch: "env-next", Base: "1234", Commit: "1234"}},
			"True Succeeded env@sha1:1234 is up to date"},
		"dry run": {gitsync.Report{Output: out, DryRun: true, Changes: make([]plan.FileChange, 2)},
			"True Succeeded 2 files would change"},
		"an error, and nothing is held": {gitsync.Report{Output: out, Diags: diag.List{{Severity: diag.Warning}, bad}},
			"False BuildFailed 1 error; first: a.yaml:3:1: ServiceMonitor/a/web: is wrong; write it right"},
		"errors": {gitsync.Report{Output: out, Diags: diag.List{bad, bad}},
			"False BuildFailed 2 errors; first: a.yaml:3:1: ServiceMonitor/a/web: is wrong; write it right"},
		"objects": {gitsync.Report{Output: out, Commit: "5678", Diags: diag.List{bad},
			Held: []plan.HeldObject{earlier, earlier}},
			"False BuildFailed 2 objects are held at their last good version; first: a.yaml:3:1: " +
				"ServiceMonitor/a/web: is wrong; write it right"},
		"a new object": {gitsync.Report{Output: out, Held: []plan.HeldObject{earlier, {State: plan.UnitLeftOut}}},
			"False BuildFailed 1 object is held at its last good version, 1 object is left out"},
		"an object of a unit that keeps its folder": {gitsync.Report{Output: out,
			Held:  []plan.HeldObject{earlier},
			Units: []gitsync.UnitStatus{{Name: "a/agent", State: plan.UnitHeld}}},
			"False BuildFailed 1 object is held at its last good version, 1 unit is held at its last good version"},
		"units": {gitsync.Report{Output: out,
			Units: []gitsync.UnitStatus{{State: plan.UnitLeftOut}, {State: plan.UnitLeftOut},
				{State: plan.UnitPaused}}},
			"False BuildFailed 2 units are left out"},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := c.report.Ready()
			if got := string(c2.Status) + " " + c2.Reason + " " + c2.Message; got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
