package diag

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cause is what problems have in common, such as charts that cannot be fetched. What a person reads has many of one
// cause as one block: apart, they hide the others, and GitHub shows no more than 10 annotations of a step.
type Cause struct {
	// Things and Problem are the subject and the predicate of a sentence about all of them, and Hint is the remedy, as
	// Flags is; see [Diagnostic.Flags].
	Things, Problem, Hint, Flags string
	// Of is what some of the things have in common, such as a host, and Reason what is wrong with that. Many is the
	// word for several of these; if it is empty, the sentence does not name them.
	Of, Many, Reason string
}

// maxApart is how many problems of one cause are printed apart. More are one block after all others.
const maxApart = 3

// block has problems of one cause.
type block List

// together returns the problems that are printed apart, and the blocks.
func (l List) together() (apart List, blocks []block) {
	type kind struct {
		severity        Severity
		code            Code
		things, problem string
	}
	of := func(d Diagnostic) kind { return kind{d.Severity, d.Code, d.Cause.Things, d.Cause.Problem} }
	all := map[kind]block{}
	for _, d := range l {
		if d.Cause != (Cause{}) {
			all[of(d)] = append(all[of(d)], d)
		}
	}
	for _, d := range l {
		if len(all[of(d)]) <= maxApart {
			apart = append(apart, d)
		}
	}
	for _, b := range slices.SortedFunc(maps.Values(all), func(a, b block) int {
		return cmp.Or(cmp.Compare(a.title(), b.title()), cmp.Compare(a[0].Severity, b[0].Severity),
			cmp.Compare(a[0].Code, b[0].Code))
	}) {
		if len(b) > maxApart {
			blocks = append(blocks, b)
		}
	}
	return apart, blocks
}

// Together returns the list with many problems of one cause as one, at the first place, after all others.
func (l List) Together() List {
	out, blocks := l.together()
	for _, b := range blocks {
		d := b.diagnostic()
		d.Source, d.File, d.Line, d.Column = b[0].Source, b[0].File, b[0].Line, b[0].Column
		out = append(out, d)
	}
	return out
}

// title is what the block says, without numbers and hosts: it stays when these change.
func (b block) title() string { return b[0].Cause.Things + " " + b[0].Cause.Problem }

// diagnostic returns one problem in place of all: what they are of, with the reasons, and the first places.
func (b block) diagnostic() Diagnostic {
	count, reasons := map[string]int{}, map[string]string{}
	for _, d := range b {
		if count[d.Cause.Of]++; count[d.Cause.Of] == 1 {
			reasons[d.Cause.Of] = d.Cause.Reason
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	cause := b[0].Cause
	first := fmt.Sprintf("%d %s", len(b), cause.Things)
	switch {
	case cause.Many != "" && len(all) > 1:
		first += fmt.Sprintf(" of %d %s", len(all), cause.Many)
	case cause.Many != "":
		first += " of " + OneLine(all[0])
	}
	lines := []string{first + " " + cause.Problem}
	for i, of := range all {
		if i == maxOf {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("and %d more %s", len(all)-i, cause.Many), " "))
			break
		}
		lines = append(lines, fmt.Sprintf("%s (%d): %s", OneLine(of), count[of], OneLine(reasons[of])))
	}
	for i, d := range b {
		if i == maxApart {
			lines = append(lines, fmt.Sprintf("and %d more: --format json lists all", len(b)-i))
			break
		}
		lines = append(lines, "at "+OneLine(strings.TrimSuffix(d.Position()+": "+d.Object.String(), ": ")))
	}
	return Diagnostic{Severity: b[0].Severity, Code: b[0].Code, Message: strings.Join(lines, "\n"), Hint: cause.Hint}
}

// maxOf is how many hosts, or whatever the problems are of, a block names.
const maxOf = 10
