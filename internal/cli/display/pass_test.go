package display

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

func TestPrintReport(t *testing.T) {
	const id = "0123456789012345678901234567890123456789"
	output := gitsync.OutputStatus{URL: "https://git.example.com/a.git", Branch: "environments/prod", Before: id}
	units := []gitsync.UnitStatus{
		{Name: "a/added", State: plan.UnitAdded},
		{Name: "b/same", State: plan.UnitUnchanged},
		{Name: "c/held", State: plan.UnitHeld, Reason: "it has an error"},
		{Name: "d/out", State: plan.UnitLeftOut},
		{Name: "e/paused", State: plan.UnitPaused},
	}
	changes := []plan.FileChange{{Path: "a/added/x.yaml", Op: "added"}, {Path: "kustomization.yaml", Op: "changed"}}
	failed := diag.List{{Severity: diag.Error, Message: "is wrong"}}
	first := branch.CommitRef{Commit: "1111111111", Date: time.Date(2026, 1, 2, 9, 4, 5, 0, time.FixedZone("", 3600))}
	then := branch.CommitRef{Commit: "2222222222", Date: time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC)}
	monitor := func(name string) manifest.ID {
		return manifest.ID{Kind: "ServiceMonitor", Namespace: "shop", Name: name}
	}
	wrong := diag.Diagnostic{Source: "https://git.example.com/shop.git", File: "shop.yaml", Line: 3, Column: 5,
		Message: "spec.jobLabel: \x1b[2J"}
	for name, test := range map[string]struct {
		report gitsync.Report
		want   string
	}{
		"pushed": {
			gitsync.Report{
				Output: output, Commit: "abcdef0123456789", Units: units, Changes: changes, Diags: failed,
				Sources: []gitsync.SourceStatus{{URL: "https://git.example.com/a.git", Ref: "branch main", Commit: id,
					Stale: true}},
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
  not ready, BuildFailed: 1 unit is held at its last good version, 1 unit is left out; first: is wrong
`,
		},
		"dry run": {
			gitsync.Report{Output: output, DryRun: true, Units: units[:1], Changes: changes,
				Difference: difference.Compare([]difference.Pair{
					{Unit: "a/added", ID: manifest.ID{Kind: "Service", Namespace: "a", Name: "x"},
						After: difference.Version{Text: []byte("kind: Service\n")}},
				})},
			`prod: would push to environments/prod of https://git.example.com/a.git
  added a/added
    1 object added

    + Service a/x
  2 files: 1 added, 1 changed, 0 removed
`,
		},
		"held objects": {
			gitsync.Report{Output: output, Units: units[1:3], Diags: failed, Held: []plan.HeldObject{
				{
					ID: monitor("api"), Units: []string{"a/added", "b/same"}, State: plan.UnitHeld,
					As: first, Since: then, Reason: wrong,
					Waiting: []string{"spec.a", "spec.b", "spec.c", "spec.d", "spec.e", "spec.f", "spec.labels[\n]",
						"spec.h"},
				},
				{ID: monitor("cart"), Units: []string{"c/held"}, State: plan.UnitHeld, Since: then,
					Reason: diag.Diagnostic{Message: "it has an error"}, Waiting: []string{"spec.labels[\n]"}},
				{ID: monitor("gone"), Units: []string{"b/same"}, State: plan.UnitHeld, As: first,
					Reason: diag.Diagnostic{Message: "it cannot be read"}},
				{ID: monitor("new"), Units: []string{"b/same"}, State: plan.UnitLeftOut, Since: then,
					Reason: diag.Diagnostic{File: "new.yaml", Message: "it has an error"}},
			}},
			`prod: pushed nothing to environments/prod of https://git.example.com/a.git
  held c/held: it has an error
  held ServiceMonitor/shop/api
    units:    a/added, b/same
    rendered: as of 1111111 (2026-01-02 08:04 UTC)
    since:    2222222 (2026-01-03 03:04 UTC)
    why:      shop.yaml:3:5: spec.jobLabel: �[2J (https://git.example.com/shop.git)
    waiting:  spec.a, spec.b, spec.c, spec.d, spec.e, spec.f and 2 more
  held ServiceMonitor/shop/cart
    units:    c/held
    rendered: as in the folders of its units, which are left unchanged
    since:    2222222 (2026-01-03 03:04 UTC)
    why:      it has an error
    waiting:  spec.labels[�]
  held ServiceMonitor/shop/gone
    units:    b/same
    rendered: as of 1111111 (2026-01-02 08:04 UTC)
    why:      it cannot be read
    waiting:  the object
  left out ServiceMonitor/shop/new
    units:    b/same
    since:    2222222 (2026-01-03 03:04 UTC)
    why:      new.yaml: it has an error
  not ready, BuildFailed: 3 objects are held at their last good version, 1 object is left out, 1 unit is held at its last good version; first: is wrong
`,
		},
		"nothing to do": {
			gitsync.Report{Output: output, Units: units[1:2]},
			"prod: nothing to change on environments/prod of https://git.example.com/a.git, at 0123456\n",
		},
		"refused": {
			gitsync.Report{Output: output, Units: units[:3], Diags: failed},
			"prod: pushed nothing to environments/prod of https://git.example.com/a.git\n" +
				"  held c/held: it has an error\n" +
				"  not ready, BuildFailed: 1 unit is held at its last good version; first: is wrong\n",
		},
		"nothing at all": {
			gitsync.Report{Output: gitsync.OutputStatus{URL: output.URL, Branch: output.Branch}},
			"prod: nothing to render to environments/prod of https://git.example.com/a.git\n",
		},
	} {
		test.report.Pipeline = "prod"
		var b strings.Builder
		if err := Pass(&b, &test.report, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestColorsAddNoText: without its colours, the text is that of a print without colours.
func TestColorsAddNoText(t *testing.T) {
	report := &gitsync.Report{Pipeline: "prod",
		Held: []plan.HeldObject{{ID: manifest.ID{Kind: "Probe", Namespace: "a", Name: "b"}}}}
	var plain, colored strings.Builder
	if err := errors.Join(Pass(&plain, report, false), Pass(&colored, report, true)); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("\x1b[1;33m", "", "\x1b[0m", "").Replace(colored.String())
	if colored.String() == plain.String() || text != plain.String() {
		t.Errorf("%q, without colour %q", colored.String(), plain.String())
	}
}
