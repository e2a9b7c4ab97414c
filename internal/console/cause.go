package console

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

const (
	// maxCauses is how many causes are shown together.
	maxCauses = 10
	// maxOfCause is how many of their pipelines are named.
	maxOfCause = 12
)

// cause is a finding that several pipelines have: the same line of one branch is wrong for all of them.
type cause struct {
	diag.Diagnostic
	Number int // from 1
	Rows   []row

	key causeKey
}

// Repository returns the repository with the line.
func (c cause) Repository() string { return c.key.repository }

// Ref returns the ref at which the repository is read, such as "branch main".
func (c cause) Ref() string { return c.key.ref }

// Named returns the pipelines that are named.
func (c cause) Named() []row { return c.Rows[:min(len(c.Rows), maxOfCause)] }

// Unnamed counts the others.
func (c cause) Unnamed() int { return len(c.Rows) - len(c.Named()) }

// causeKey is what findings of one cause have in common.
type causeKey struct {
	repository, ref string
	diag.Mistake
}

// causeKey returns the key of a finding, and the finding with the name that its file has in the repository.
func (r row) causeKey(d diag.Diagnostic) (key causeKey, of diag.Diagnostic) {
	if i, file := gitsync.Locate(r.Sources, d.Source, d.File); i >= 0 {
		key.repository, key.ref = r.Sources[i].URL, r.Sources[i].Ref
		d.Source, d.File = "", file // pipelines call a source as they like
	}
	key.Mistake = d.Mistake()
	return key, d
}

// causes returns what several pipelines have in common, the most frequent first, and notes it in the rows whose first
// finding it is.
func causes(rows []row) (out []cause) {
	index := map[causeKey]int{}
	for _, r := range rows {
		for _, d := range r.Findings.First {
			if d.File == "" || d.Severity == diag.Info {
				continue
			}
			key, d := r.causeKey(d)
			i, isKnown := index[key]
			if !isKnown {
				i = len(out)
				index[key] = i
				out = append(out, cause{Diagnostic: d, key: key})
			}
			if of := out[i].Rows; len(of) == 0 || of[len(of)-1].Name != r.Name {
				out[i].Rows = append(of, r)
			}
		}
	}
	out = slices.DeleteFunc(out, func(c cause) bool { return len(c.Rows) < 2 })
	slices.SortStableFunc(out, func(a, b cause) int { return len(b.Rows) - len(a.Rows) })
	out = out[:min(len(out), maxCauses)]
	number := map[causeKey]int{}
	for i := range out {
		out[i].Number = i + 1
		number[out[i].key] = i + 1
	}
	for i, r := range rows {
		if len(r.Findings.First) > 0 && r.Summary() != "" {
			key, _ := r.causeKey(r.Findings.First[0])
			rows[i].Cause = number[key]
		}
	}
	return out
}
