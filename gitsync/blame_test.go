package gitsync_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFindingsSayWhoChangedThem: a finding has the commit that changed its object, not the newest of its file, and the
// owners of the file; also if a process starts again.
func TestFindingsSayWhoChangedThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := maps.Clone(twoTeams())
	files["in/CODEOWNERS"], files[".github/CODEOWNERS"] = "* @nobody\n", "* @all\nin/b/ @b-team\n"
	l.input(files)
	l.pass()
	broken := strings.Replace(monitor("b", "web", "http"), "spec:", "spec:\n  nonsense: 1", 1)
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "other", "p0") + "---\n" + broken})
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "other", "p1") + "---\n" + broken})
	for range 2 {
		report := l.pass()
		if len(report.Held) != 1 || len(report.Diags) == 0 || report.Diags[0].Changed == nil {
			t.Fatalf("%v\n%v", report.Held, report.Diags)
		}
		for _, d := range [...]struct {
			commit string
			owners []string
		}{
			{report.Diags[0].Changed.Commit, report.Diags[0].Owners},
			{report.Held[0].Reason.Changed.Commit, report.Held[0].Reason.Owners},
		} {
			if got := l.number(d.commit); got != 2 {
				t.Errorf("changed in commit %d, not 2", got)
			}
			if diff := cmp.Diff([]string{"@b-team"}, d.owners); diff != "" {
				t.Error(diff)
			}
		}
	}
}
