package display

import (
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Outcome is the result of one pipeline when all are synced.
type Outcome string

// The outcomes, in the order of the summary.
const (
	Pushed    Outcome = "pushed"
	WouldPush Outcome = "would-push" // in a dry run
	Unchanged Outcome = "unchanged"
	Refused   Outcome = "refused" // an error stands in the way of the commit
	Failed    Outcome = "failed"  // the pass did not end
	Suspended Outcome = "suspended"
	NotRun    Outcome = "not-run" // the command was interrupted before
)

// Results is the output of `agentry sync --format json`.
type Results struct {
	Pipelines []Result `json:"pipelines"`
}

// Result holds the findings and results of a pass of one pipeline.
type Result struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Ready is false if an object or a unit is held or left out, and if the pass was refused or failed.
	Ready   bool   `json:"ready"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Branch is the one that is pushed to, and Commit its new tip.
	Branch  string                 `json:"branch,omitempty"`
	Commit  string                 `json:"commit,omitempty"`
	Sources []gitsync.SourceStatus `json:"sources"`
	Output  gitsync.OutputStatus   `json:"output"`
	Units   []gitsync.UnitStatus   `json:"units"`
	Held    []plan.HeldObject      `json:"held"`
	Changes []plan.FileChange      `json:"changes"`
	// Difference is the meaning of Changes, with the keys of `agentry diff --format json`. Only a dry run has it.
	Difference *difference.Difference `json:"difference,omitempty"`
	// Diagnostics have the keys of `agentry check --format json`.
	Diagnostics diag.List `json:"diagnostics"`
}

// Idle returns the result of a pipeline that made no pass.
func Idle(name string, outcome Outcome) Result {
	return NewResult(&gitsync.Report{Pipeline: name}, outcome)
}

// NewResult returns the result of a pass that ended so.
func NewResult(r *gitsync.Report, outcome Outcome) Result {
	branch, _, commit := destination(r)
	out := Result{
		Name: r.Pipeline, Outcome: outcome, Branch: branch, Commit: commit, Output: r.Output,
		Sources: listed(r.Sources), Units: listed(r.Units), Held: listed(r.Held), Changes: listed(r.Changes),
		Diagnostics: r.Diags,
	}
	if r.DryRun {
		out.Difference = r.Difference
	}
	if outcome != Failed && outcome != Suspended && outcome != NotRun {
		ready := r.Ready()
		out.Ready, out.Message = ready.Status == metav1.ConditionTrue, ready.Message
	}
	return out
}

// listed returns a list that is not null as JSON.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// OutcomeOf returns the outcome of a pass that did not fail.
func OutcomeOf(r *gitsync.Report) Outcome {
	_, _, commit := destination(r)
	switch {
	case r.Refused != nil:
		return Refused
	case commit != "":
		return Pushed
	case r.DryRun && len(r.Changes) > 0:
		return WouldPush
	}
	return Unchanged
}

// destination returns the branch that a pass pushes to, and its tip before the pass and after a push: the proposed
// branch if the pipeline has something to promote.
func destination(r *gitsync.Report) (branch, before, commit string) {
	p := r.Proposed
	if p == nil || !p.Open() && !(r.DryRun && len(r.Changes) > 0) {
		return r.Output.Branch, r.Output.Before, r.Commit
	}
	if p.Commit != p.Before {
		commit = p.Commit
	}
	return p.Branch, p.Before, commit
}

// Summary counts the outcomes of several pipelines, and names those that need attention.
//
//	4 pipelines: 2 pushed, 1 unchanged, 1 failed
//	  failed: gone
//	  not ready: shop
func (r Results) Summary(w io.Writer) error {
	var counts []string
	for _, o := range []Outcome{Pushed, WouldPush, Unchanged, Refused, Failed, Suspended, NotRun} {
		if names := r.names(func(p Result) bool { return p.Outcome == o }); len(names) > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", len(names), o.words()))
		}
	}
	var b strings.Builder
	printf(&b, "%s: %s\n", Amount(len(r.Pipelines), "pipeline"), strings.Join(counts, ", "))
	for _, o := range []Outcome{Failed, NotRun} {
		if names := r.names(func(p Result) bool { return p.Outcome == o }); len(names) > 0 {
			printf(&b, "  %s: %s\n", o.words(), strings.Join(names, ", "))
		}
	}
	ended := []Outcome{Pushed, WouldPush, Unchanged, Refused}
	if names := r.names(func(p Result) bool { return !p.Ready && slices.Contains(ended, p.Outcome) }); len(names) > 0 {
		printf(&b, "  not ready: %s\n", strings.Join(names, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Results) names(of func(Result) bool) []string {
	var out []string
	for _, p := range r.Pipelines {
		if of(p) {
			out = append(out, p.Name)
		}
	}
	return out
}

// words returns the outcome as people read it.
func (o Outcome) words() string { return strings.ReplaceAll(string(o), "-", " ") }
