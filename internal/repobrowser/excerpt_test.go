package repobrowser

import (
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/test/outputs"
)

// TestTheLinesOfFindings: a line is shown only if check would show it, and only from the rendered commit.
func TestTheLinesOfFindings(t *testing.T) {
	w := outputs.New(t)
	w.Pass()
	w.Remote.Commit("main", map[string]string{"in/agent.yaml": "# the newest commit is not rendered yet\n"})
	at := func(line, column int) diag.Diagnostic {
		return diag.Diagnostic{File: "in/agent.yaml", Line: line, Column: column}
	}
	elsewhere := at(2, 1)
	elsewhere.File = "in/../../etc/passwd"
	got := storeOf(w).Excerpts("prod",
		diag.List{at(2, 7), at(3, 0), at(11, 3), at(16, 3), at(99, 1), elsewhere, {}})
	want := []Excerpt{
		{"kind: ", "GrafanaAgent", ""},
		{Before: "metadata: {name: agent, namespace: m}"},
		{}, // it names a password
		{}, // it is in a Secret
		{}, {}, {},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestTheLinesOfTwoBranches: the line is of the branch that the finding names, if two sources are of one repository.
func TestTheLinesOfTwoBranches(t *testing.T) {
	w := outputs.New(t)
	w.Pass()
	older := w.Status.Sources[0]
	w.Remote.Commit("main", map[string]string{"in/agent.yaml": "# other\n" + outputs.Input("second")})
	w.Pass()
	newer := w.Status.Sources[0]
	older.Label, newer.Label = older.URL+" branch a", newer.URL+" branch b"
	w.Status.Sources = []gitsync.SourceStatus{older, newer}
	at := diag.Diagnostic{File: "in/agent.yaml", Line: 3, Column: 7, Source: newer.Label}
	want := []Excerpt{{"kind: ", "GrafanaAgent", ""}}
	if got := storeOf(w).Excerpts("prod", diag.List{at}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
