package hold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// attribute returns the errors to report, found while objects were held: each fault once, at the object that caused
// it. An object that is not held was there before and stays, so nobody has to correct it.
func attribute(errors diag.List, held heldObjects) diag.List {
	r := reporter{held: held, pairs: map[pair]bool{}, reported: map[cause]int{},
		victims: map[cause]map[diag.Object]bool{}}
	errors = slices.Clone(errors)
	errors.Sort()
	for _, d := range errors {
		for _, other := range d.Related {
			r.pairs[pair{d.Code, d.Object, other}] = true
		}
	}
	for _, d := range errors {
		r.report(d)
	}
	return r.finish()
}

// pair is an error of an object that is related to another one.
type pair struct {
	code       diag.Code
	from, with diag.Object
}

// cause is an object that caused errors of others.
type cause struct {
	code   diag.Code
	object diag.Object
}

type reporter struct {
	held     heldObjects
	pairs    map[pair]bool
	out      diag.List
	reported map[cause]int // index in out
	victims  map[cause]map[diag.Object]bool
}

func (r *reporter) report(d diag.Diagnostic) {
	switch {
	case d.Code == diag.FollowsError:
		if r.isHeld(d.Object) || !slices.ContainsFunc(d.Related, r.isHeld) {
			d.Severity = diag.Warning // its cause is an error already
			r.out = append(r.out, d)
		}
	case r.isHeld(d.Object):
		r.out = append(r.out, r.asNew(d))
	default:
		r.reportVictim(d)
	}
}

func (r *reporter) isHeld(o diag.Object) bool {
	_, ok := r.held[manifest.IDOf(o)]
	return ok
}

// mutual reports whether the other object has the same error because of this one.
func (r *reporter) mutual(d diag.Diagnostic, other diag.Object) bool {
	return r.pairs[pair{d.Code, other, d.Object}]
}

// asNew adds to an error of several objects that this one is the newer, if that is known.
func (r *reporter) asNew(d diag.Diagnostic) diag.Diagnostic {
	var before []string
	for _, other := range d.Related {
		if !r.isHeld(other) && r.mutual(d, other) {
			before = append(before, other.String())
		}
	}
	if len(before) == 0 {
		return d
	}
	how := "is new"
	if r.held[manifest.IDOf(d.Object)].StandIn != nil {
		how = "changed"
	}
	d.Message += "; this one " + how + ", " + strings.Join(before, " and ") + " existed before and stays"
	return d
}

// reportVictim reports an error of an object that is not held. If another object is held for it, the error is
// reported there, once for all its victims.
func (r *reporter) reportVictim(d diag.Diagnostic) {
	i := slices.IndexFunc(d.Related, r.isHeld)
	if i < 0 {
		r.out = append(r.out, d)
		return
	}
	c := cause{d.Code, d.Related[i]}
	if r.mutual(d, c.object) {
		return // the other object reports it
	}
	if r.victims[c] == nil {
		r.victims[c] = map[diag.Object]bool{}
		r.reported[c] = len(r.out)
		r.out = append(r.out, r.atCause(d, c))
	}
	r.victims[c][d.Object] = true
}

// atCause moves an error to the object that causes it, if that is in the inputs.
func (r *reporter) atCause(d diag.Diagnostic, c cause) diag.Diagnostic {
	o := r.held[manifest.IDOf(c.object)].Object
	if o == nil {
		d.Message += "; it was there before"
		return d
	}
	moved := o.Place(d.Code.At("", "because of it, %s (%s) is wrong: %s", d.Object, d.Position(), d.Problem()).
		As(d.Severity))
	moved.Hint = d.Hint
	moved.Related = []diag.Object{d.Object}
	return moved
}

// finish adds the number of other objects that each cause made wrong.
func (r *reporter) finish() diag.List {
	for c, i := range r.reported {
		switch more := len(r.victims[c]) - 1; {
		case more == 1:
			r.out[i].Message += "; 1 more object is wrong because of it"
		case more > 1:
			r.out[i].Message += fmt.Sprintf("; %d more objects are wrong because of it", more)
		}
	}
	return r.out
}
