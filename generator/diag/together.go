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
	// Things and Problem are the subject and the predicate of a sentence about all of them, and Hint is the remedy.
	Things, Problem, Hint string
	// Server is the host of one thing, and Reason what is wrong with it.
	Server, Reason string
}

// maxApart is how many problems of one cause are printed apart. More are one block after all others.
const maxApart = 3

// block has problems of one cause.
type block List

// together returns the problems that are printed apart, and the blocks.
func (l List) together() (apart List, blocks []block) {
	type kind struct {
		severity Severity
		code     Code
		things   string
	}
	of := func(d Diagnostic) kind { return kind{d.Severity, d.Code, d.Cause.Things} }
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
		return cmp.Or(cmp.Compare(a[0].Cause.Things, b[0].Cause.Things), cmp.Compare(a[0].Severity, b[0].Severity),
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

// diagnostic returns one problem in place of all: the hosts with their reasons, and the first places.
func (b block) diagnostic() Diagnostic {
	count, reasons := map[string]int{}, map[string]string{}
	for _, d := range b {
		if count[d.Cause.Server]++; count[d.Cause.Server] == 1 {
			reasons[d.Cause.Server] = d.Cause.Reason
		}
	}
	servers := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	of := servers[0]
	if len(servers) > 1 {
		of = fmt.Sprintf("%d hosts", len(servers))
	}
	lines := []string{fmt.Sprintf("%d %s of %s %s", len(b), b[0].Cause.Things, OneLine(of), b[0].Cause.Problem)}
	for i, server := range servers {
		if i == maxServers {
			lines = append(lines, fmt.Sprintf("and %d more hosts", len(servers)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s (%d): %s", OneLine(server), count[server], OneLine(reasons[server])))
	}
	for i, d := range b {
		if i == maxApart {
			lines = append(lines, fmt.Sprintf("and %d more: --format json lists all", len(b)-i))
			break
		}
		lines = append(lines, "at "+OneLine(strings.TrimSuffix(d.Position()+": "+d.Object.String(), ": ")))
	}
	return Diagnostic{Severity: b[0].Severity, Code: b[0].Code, Message: strings.Join(lines, "\n"),
		Hint: b[0].Cause.Hint}
}

// maxServers is how many hosts a block names.
const maxServers = 10
