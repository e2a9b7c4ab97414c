package display

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// PrintSuspended prints that a pipeline is suspended.
func PrintSuspended(w io.Writer, name string) error {
	_, err := fmt.Fprintf(w, "%s: suspended\n", diag.OneLine(name))
	return err
}

// Pass prints the result of a pass: the source, the target, the changed units, and what is held.
//
//	prod: pushed 1a2b3c4 to environments/prod of https://git.example.com/a.git
//	  from main of https://git.example.com/a.git at 5d6e7f8
//	  changed monitoring/grafana-agent
//	  3 files: 1 added, 2 changed, 0 removed
func Pass(w io.Writer, r *gitsync.Report, color bool) error {
	out := bufio.NewWriter(w)
	printf(out, "%s: %s\n", r.Pipeline, outcome(r))
	for _, s := range r.Sources {
		stale := ""
		if s.Stale {
			stale = " (not reached; as rendered last)"
		}
		printf(out, "  from %s of %s at %s%s\n", s.Ref, s.URL, short(s.Commit), stale)
	}
	for _, u := range r.Units {
		if happened(r, u.State) {
			printf(out, "  %s\n", unitLine(u))
		}
	}
	for _, h := range r.Held {
		printHeld(out, h, color)
	}
	if len(r.Changes) > 0 {
		printChanges(out, r)
	}
	if n := Total(r.Ignored); n > 0 {
		printf(out, "  ignored %s of other kinds\n", Amount(n, "object"))
	}
	if charts := UnsetCharts(r.UnsetCharts); charts != "" {
		printf(out, " %s\n", charts)
	}
	if ready := r.Ready(); ready.Status != metav1.ConditionTrue {
		printf(out, "  not ready, %s: %s\n", ready.Reason, ready.Message)
	}
	return out.Flush()
}

// happened reports whether to print a unit's state. If the pass was refused, planned changes are not printed.
func happened(r *gitsync.Report, state plan.UnitState) bool {
	switch state {
	case plan.UnitUnchanged:
		return false
	case plan.UnitAdded, plan.UnitChanged, plan.UnitRemoved:
		_, _, commit := destination(r)
		return commit != "" || r.DryRun
	}
	return true
}

// outcome returns the result of a pass in one line.
func outcome(r *gitsync.Report) string {
	branch, before, commit := destination(r)
	place := fmt.Sprintf("%s of %s", branch, r.Output.URL)
	switch {
	case commit != "" && !r.DryRun:
		return fmt.Sprintf("pushed %s to %s", short(commit), place)
	case len(r.Changes) > 0 && r.DryRun:
		return "would push to " + place
	case r.Diags.HasErrors():
		return "pushed nothing to " + place
	case before == "":
		return "nothing to render to " + place
	}
	return fmt.Sprintf("nothing to change on %s, at %s", place, short(before))
}

func unitLine(u gitsync.UnitStatus) string {
	line := stateText(u.State) + " " + u.Name
	if note := cmp.Or(u.Reason, u.Lost); note != "" {
		line += ": " + note
	}
	return line
}

// printChanges counts the changed files. For a dry run it prints what the change means.
func printChanges(w io.Writer, r *gitsync.Report) {
	counts := map[string]int{}
	for _, c := range r.Changes {
		counts[c.Op]++
	}
	if r.DryRun && r.Difference != nil {
		for line := range strings.Lines(r.Difference.Text()) {
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				line = "    " + line
			}
			printf(w, "%s\n", line)
		}
	}
	printf(w, "  %s: %d added, %d changed, %d removed\n", Amount(len(r.Changes), "file"), counts["added"],
		counts["changed"], counts["removed"])
}

// short abbreviates a commit id for people.
func short(id string) string { return id[:min(len(id), 7)] }
