package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// faults makes of the errors that were found while objects were held what is told of them:
// each fault once, at the object that brought it in. Objects that are not held were there
// before and stay: they are not what anybody has to correct.
func faults(errors diag.List, held map[manifest.ID]Held) diag.List {
	t := teller{held: held, pairs: map[pair]bool{}, causes: map[cause]int{}, victims: map[cause]map[diag.Object]bool{}}
	errors = slices.Clone(errors)
	errors.Sort()
	for _, d := range errors {
		for _, other := range d.Related {
			t.pairs[pair{d.Code, d.Object, other}] = true
		}
	}
	for _, d := range errors {
		t.tell(d)
	}
	return t.finish()
}

// pair is an error of one object that is there together with another.
type pair struct {
	code       diag.Code
	from, with diag.Object
}

// cause is an object that made others wrong.
type cause struct {
	code   diag.Code
	object diag.Object
}

// teller collects what is told.
type teller struct {
	held    map[manifest.ID]Held
	pairs   map[pair]bool
	out     diag.List
	causes  map[cause]int // where in out it is told
	victims map[cause]map[diag.Object]bool
}

func (t *teller) tell(d diag.Diagnostic) {
	switch {
	case d.Code == diag.FollowsError:
		if t.isHeld(d.Object) || !slices.ContainsFunc(d.Related, t.isHeld) {
			d.Severity = diag.Warning // its cause is an error already
			t.out = append(t.out, d)
		}
	case t.isHeld(d.Object):
		t.out = append(t.out, t.asNew(d))
	default:
		t.outside(d)
	}
}

func (t *teller) isHeld(o diag.Object) bool {
	_, ok := t.held[idOf(o)]
	return ok
}

// mutual reports whether the other object has the same error with this one.
func (t *teller) mutual(d diag.Diagnostic, other diag.Object) bool {
	return t.pairs[pair{d.Code, other, d.Object}]
}

// asNew says of an error of several objects that this one is the newer, if that is known.
func (t *teller) asNew(d diag.Diagnostic) diag.Diagnostic {
	var before []string
	for _, other := range d.Related {
		if !t.isHeld(other) && t.mutual(d, other) {
			before = append(before, other.String())
		}
	}
	if len(before) == 0 {
		return d
	}
	how := "is new"
	if t.held[idOf(d.Object)].StandIn != nil {
		how = "changed"
	}
	d.Message += "; this one " + how + ", " + strings.Join(before, " and ") + " was there before and stays"
	return d
}

// outside tells an error of an object that is not held. If another was held for it, that one
// is told of, once for all such objects.
func (t *teller) outside(d diag.Diagnostic) {
	i := slices.IndexFunc(d.Related, t.isHeld)
	if i < 0 {
		t.out = append(t.out, d)
		return
	}
	c := cause{d.Code, d.Related[i]}
	if t.mutual(d, c.object) {
		return // it is told there
	}
	if t.victims[c] == nil {
		t.victims[c] = map[diag.Object]bool{}
		t.causes[c] = len(t.out)
		t.out = append(t.out, t.atCause(d, c))
	}
	t.victims[c][d.Object] = true
}

// atCause moves an error to the object that causes it, if that is in the inputs.
func (t *teller) atCause(d diag.Diagnostic, c cause) diag.Diagnostic {
	o := t.held[idOf(c.object)].Object
	if o == nil {
		d.Message += "; it was there before"
		return d
	}
	moved := o.Diag(d.Severity, d.Code, "", "because of it, %s (%s) is wrong: %s", d.Object, d.Position(), d.Message)
	moved.Hint = d.Hint
	moved.Related = []diag.Object{d.Object}
	return moved
}

// finish counts the others that a cause made wrong.
func (t *teller) finish() diag.List {
	for c, i := range t.causes {
		switch more := len(t.victims[c]) - 1; {
		case more == 1:
			t.out[i].Message += "; 1 more object is wrong for it"
		case more > 1:
			t.out[i].Message += fmt.Sprintf("; %d more objects are wrong for it", more)
		}
	}
	return t.out
}

func idOf(o diag.Object) manifest.ID {
	return manifest.ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
