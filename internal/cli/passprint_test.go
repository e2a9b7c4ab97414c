package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

func TestPrintReport(t *testing.T) {
	const id = "0123456789012345678901234567890123456789"
	output := gitsync.OutputReport{URL: "https://git.example.com/a.git", Branch: "environments/prod", Before: id}
	units := []gitsync.UnitReport{
		{Name: "a/added", State: gitsync.UnitAdded},
		{Name: "b/same", State: gitsync.UnitUnchanged},
		{Name: "c/held", State: gitsync.UnitHeld, Reason: "it has an error"},
		{Name: "d/out", State: gitsync.UnitLeftOut},
		{Name: "e/paused", State: gitsync.UnitPaused},
	}
	changes := []gitsync.FileChange{{Path: "a/added/x.yaml", Op: "added", Insertions: 3}, {Path: "kustomization.yaml", Op: "changed", Insertions: 1, Deletions: 2}}
	failed := diag.List{{Severity: diag.Error}}
	for name, test := range map[string]struct {
		report gitsync.Report
		want   string
	}{
		"pushed": {
			gitsync.Report{
				Output: output, Commit: "abcdef0123456789", Units: units, Changes: changes, Diags: failed,
				Sources: []gitsync.SourceReport{{URL: "https://git.example.com/a.git", Ref: "branch main", Commit: id, Stale: true}},
				Ignored: map[string]int{"v1 ServiceAccount": 1, "v1 Pod": 2},
			},
			`prod: pushed abcdef0 to environments/prod of https://git.example.com/a.git
  from branch main of https://git.example.com/a.git at 0123456 (not reached; as rendered last)
  added a/added
  held c/held: it has an error
  left out d/out
  paused e/paused
  2 files: 1 added, 1 changed, 0 removed
  ignored 3 objects of other kinds
  not ready, BuildFailed: errors: 1, units held back: 2
`,
		},
		"dry run": {
			gitsync.Report{Output: output, DryRun: true, Units: units[:1], Changes: changes},
			`prod: would push to environments/prod of https://git.example.com/a.git
  added a/added
    added   a/added/x.yaml +3 -0
    changed kustomization.yaml +1 -2
  2 files: 1 added, 1 changed, 0 removed
`,
		},
		"nothing to do": {
			gitsync.Report{Output: output, Units: units[1:2]},
			"prod: nothing to change on environments/prod of https://git.example.com/a.git, at 0123456\n",
		},
		"refused": {
			gitsync.Report{Output: output, Units: units[:3], Diags: failed},
			"prod: pushed nothing to environments/prod of https://git.example.com/a.git\n  held c/held: it has an error\n" +
				"  not ready, BuildFailed: errors: 1, units held back: 1\n",
		},
		"nothing at all": {
			gitsync.Report{Output: gitsync.OutputReport{URL: output.URL, Branch: output.Branch}},
			"prod: nothing to render to environments/prod of https://git.example.com/a.git\n",
		},
	} {
		test.report.Pipeline = "prod"
		var b strings.Builder
		if err := printReport(&b, &test.report); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
