package display

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// maxWaiting limits the fields that are printed as waiting; JSON has all of them.
const maxWaiting = 6

// printHeld prints an object that is not rendered as it is in the inputs:
//
//	held ServiceMonitor/shop/checkout
//	  units:    monitoring/agent
//	  rendered: as of 9f8e7d6 (2026-01-02 08:15 UTC)
//	  since:    1a2b3c4 (2026-01-03 09:30 UTC)
//	  why:      shop/checkout.yaml:12:7: spec.endpoints[0].interval: not a duration
//	  changed:  1a2b3c4 (2026-01-03 09:28 UTC) by Jane Doe <jane@example.com>: Scrape more often
//	  waiting:  spec.endpoints[0].interval, spec.endpoints[1].port
func printHeld(w io.Writer, h plan.HeldObject, color bool) {
	printf(w, "  %s %s\n", highlighted{stateText(h.State), color}, h)
	for _, line := range [...][2]string{
		{"units", strings.Join(h.Units, ", ")},
		{"rendered", rendered(h)},
		{"since", commitText(h.Since)},
		{"why", Reason(h.Reason)},
		{"changed", changed(h.Reason.Changed)},
		{"waiting", waiting(h)},
	} {
		if line[1] != "" {
			printf(w, "    %-9s %s\n", line[0]+":", line[1])
		}
	}
}

// changed returns who last changed what is wrong.
func changed(c *diag.Change) string {
	if c == nil {
		return ""
	}
	commit := commitText(branch.CommitRef{Commit: c.Commit, Date: c.Date})
	return fmt.Sprintf("%s by %s: %s", commit, c.Author, c.Subject)
}

func rendered(h plan.HeldObject) string {
	switch {
	case h.As.Commit != "":
		return "as of " + commitText(h.As)
	case h.State == plan.UnitHeld:
		return "as in the folders of its units, which are left unchanged"
	}
	return ""
}

// waiting returns the fields that would change if the object were fixed.
func waiting(h plan.HeldObject) string {
	switch {
	case h.State == plan.UnitLeftOut:
		return "" // the state says it
	case h.Waiting == nil:
		return "the object"
	case len(h.Waiting) <= maxWaiting:
		return strings.Join(h.Waiting, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(h.Waiting[:maxWaiting], ", "), len(h.Waiting)-maxWaiting)
}

// Reason returns an error with its position, on one line. The hint is printed with the diagnostics.
func Reason(d diag.Diagnostic) string {
	text := d.Problem()
	if d.File != "" {
		text = d.Position() + ": " + text
	}
	if d.Source != "" {
		text += " (" + d.Source + ")"
	}
	return text
}

// stateText returns a state in words.
func stateText(state plan.UnitState) string {
	if state == plan.UnitLeftOut {
		return "left out"
	}
	return string(state)
}

// commitText returns a commit with its date, or nothing if there is none.
func commitText(c branch.CommitRef) string {
	if c.Commit == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s UTC)", short(c.Commit), c.Date.UTC().Format("2006-01-02 15:04"))
}
