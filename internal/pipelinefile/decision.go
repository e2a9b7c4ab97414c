package pipelinefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// maxNames limits the pipelines that a message names.
const maxNames = 10

// decision decides which pipelines of a fleet's files can run together. A new pipeline never displaces a
// running one: if two have the same name or place, the one that ran before stays, and the other one's file
// keeps its last good version. A file without one runs without that pipeline. If neither of the two ran before,
// neither runs, because taking over the branch of another pipeline could delete everything on it.
type decision struct {
	files    []*file // in order
	fresh    map[*file]bool
	out      map[*Pipeline]bool
	problems map[*file]diag.List
}

func decide(files []*file) *decision {
	d := &decision{files: files, fresh: map[*file]bool{}, out: map[*Pipeline]bool{}, problems: map[*file]diag.List{}}
	for _, f := range files {
		d.fresh[f] = f.next != nil && !f.current
	}
	for d.resolveConflicts() { // a file's older version can conflict with other files
	}
	for _, f := range files {
		if d.fresh[f] {
			f.good = slices.DeleteFunc(slices.Clone(f.next), func(p *Pipeline) bool { return d.out[p] })
			f.partial = len(f.good) < len(f.next)
			f.current = !f.partial
		}
	}
	fleet, owners := d.candidates()
	for _, fault := range rolloutFaults(fleet, true) {
		d.report(owners[fault.at], fleet[fault.at], fault.problem)
	}
	return d
}

// candidates returns the pipelines as they would run, and the file of each.
func (d *decision) candidates() (fleet []*Pipeline, owners []*file) {
	for _, f := range d.files {
		list := f.good
		if d.fresh[f] {
			list = f.next
		}
		for _, p := range list {
			if !d.out[p] {
				fleet, owners = append(fleet, p), append(owners, f)
			}
		}
	}
	return fleet, owners
}

// resolveConflicts resolves the conflicts of the candidates, and reports whether there were any.
func (d *decision) resolveConflicts() bool {
	fleet, owners := d.candidates()
	back := map[*file]bool{}
	moved := false
	yield := func(loser, winner int, o pipeline.Overlap) {
		moved = true
		f, p := owners[loser], fleet[loser]
		d.report(f, p, overlapProblem(o, fleet[winner], p))
		if d.canGoBack(f) {
			back[f] = true
		} else {
			d.out[p] = true
		}
	}
	for _, c := range conflicts(fleet) {
		first, second := d.isEstablished(owners[c.first], fleet[c.first]), d.isEstablished(owners[c.second],
			fleet[c.second])
		if !first {
			yield(c.first, c.second, c.overlap)
		}
		if !second {
			yield(c.second, c.first, c.overlap)
		}
	}
	for _, fault := range rolloutFaults(fleet, true) {
		for _, i := range append([]int{fault.at}, fault.circle...) {
			if f := owners[i]; d.canGoBack(f) {
				moved, back[f] = true, true
				d.report(f, fleet[fault.at], fault.problem)
			}
		}
	}
	for f := range back {
		d.fresh[f] = false
	}
	return moved
}

// canGoBack reports whether a file has a last good version that differs from its content.
func (d *decision) canGoBack(f *file) bool { return d.fresh[f] && len(f.good) > 0 && !f.partial }

// isEstablished reports whether a pipeline has run with this name at this place.
func (d *decision) isEstablished(f *file, p *Pipeline) bool {
	return slices.ContainsFunc(f.good, func(old *Pipeline) bool { return old == p || isSamePlace(old, p) })
}

func isSamePlace(a, b *Pipeline) bool {
	x, y := a.Spec.Output, b.Spec.Output
	oci := func(o pipeline.Output) string {
		if o.OCI == nil {
			return ""
		}
		return o.OCI.URL
	}
	return a.Metadata.Name == b.Metadata.Name &&
		pipeline.SameRepository(x.URL, y.URL) &&
		x.Branch == y.Branch && x.Path == y.Path && x.Promotion.Mode == y.Promotion.Mode && oci(x) == oci(y)
}

// report adds a problem of a file, once.
func (d *decision) report(f *file, p *Pipeline, problem diag.Diagnostic) {
	next := p.Place(problem)
	if !slices.ContainsFunc(d.problems[f], next.Same) {
		d.problems[f] = append(d.problems[f], next)
	}
}

// keeps returns a warning that names the pipelines that run if a file does not run as it is.
func (f *file) keeps() diag.Diagnostic {
	message := "the last good version of the file stays in force: "
	switch {
	case len(f.good) == 0:
		message = "none of the file's pipelines runs"
	case f.partial:
		message = "the other pipelines of the file run: "
	}
	names := make([]string, len(f.good))
	for i, p := range f.good {
		names[i] = p.Metadata.Name
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	return diag.Diagnostic{Severity: diag.Warning, Code: diag.PipelineKept, File: f.name,
		Message: message + strings.Join(names, ", ")}
}
