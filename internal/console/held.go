package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/repobrowser"
)

const (
	// maxHeld is how many held objects the page of a pipeline shows whose errors it does not show; the JSON has all.
	maxHeld = 200
	// maxHeldByOne is how many objects it names that one error holds.
	maxHeldByOne = 10
)

// shownFinding is a finding with the line that it is about, and what it holds.
type shownFinding struct {
	diag.Diagnostic
	Excerpt repobrowser.Excerpt
	Held    []plan.HeldObject
	// MoreHeld counts the held objects that are not named.
	MoreHeld int
	// Withheld are the units that it holds or leaves out as a whole.
	Withheld []fleet.UnitStatus
}

// HasManual reports whether there is a page about the code.
func (f shownFinding) HasManual() bool {
	_, ok := diag.Lookup(f.Code)
	return ok
}

// HoldsItself reports whether the object that it is about is among the held ones that are named.
func (f shownFinding) HoldsItself() bool {
	return slices.ContainsFunc(f.Held, func(h plan.HeldObject) bool { return h.ID == manifest.IDOf(f.Object) })
}

// showFindings adds what the findings hold, and returns the held objects whose errors are not among them.
func showFindings(findings []shownFinding, held []plan.HeldObject) (others []plan.HeldObject) {
	for _, h := range held {
		i := slices.IndexFunc(findings, func(f shownFinding) bool { return f.Same(h.Reason) })
		switch {
		case i < 0:
			others = append(others, h)
		case len(findings[i].Held) == maxHeldByOne:
			findings[i].MoreHeld++
		default:
			findings[i].Held = append(findings[i].Held, h)
		}
	}
	return others
}

// showUnits adds to the findings the units that they hold as a whole, and returns the others.
func showUnits(findings []shownFinding, held []fleet.UnitStatus) (others []fleet.UnitStatus) {
	for _, u := range held {
		i := slices.IndexFunc(findings, func(f shownFinding) bool { return f.Same(u.Error) })
		if i < 0 {
			others = append(others, u)
			continue
		}
		findings[i].Withheld = append(findings[i].Withheld, u)
	}
	return others
}

// who is who last changed what a finding is about, and who owns the file.
type who struct {
	Author  string // empty if it is not known
	When    shownTime
	Commit  commitLink
	Subject string
	Owners  []string
}

// Who returns who a finding is a matter of.
func (p pipelinePage) Who(d diag.Diagnostic) who { return p.who(p.row, d) }

// who returns who a finding of a pipeline is a matter of.
func (f frame) who(of row, d diag.Diagnostic) who {
	out := who{Owners: d.Owners}
	if c := d.Changed; c != nil {
		name, mail, _ := strings.Cut(c.Author, "<")
		out.Author = cmp.Or(strings.TrimSpace(name), strings.TrimSuffix(mail, ">"), "nobody")
		out.When, out.Subject = f.Since(c.Date), c.Subject
		out.Commit = commitLink{c.Commit, of.ChangePage(d)}
	}
	return out
}

// ListOf returns the list of the pipelines in which something is wrong that an author changed, or an owner owns.
func (w who) ListOf(person string) string { return query{Words: person, Page: 1}.link() }
