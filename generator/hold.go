package generator

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Past is what units were last rendered from: what is rendered in place of objects that
// are wrong today. It is asked about nothing else, so that good inputs cost no history. It
// must be safe for concurrent use, and give the same answers throughout a render.
type Past interface {
	// Last returns the version of an object that a unit (namespace/name) was last rendered
	// from, its stand-in. had tells that the unit was rendered from it at all; the object is
	// nil when it was, but its text cannot be had any more.
	Last(unit string, id manifest.ID) (o *manifest.Object, had bool)
}

// Held is an object that is not rendered as it is in the set.
type Held struct {
	manifest.ID
	// Object is what is in the set; nil when the object is gone but still referred to.
	Object *manifest.Object
	// StandIn is rendered in its place; nil when it is left out.
	StandIn *manifest.Object
	// Reason is the error for which it is held.
	Reason diag.Diagnostic
}

// Refuse holds whatever an error blames, found in what was rendered for a unit: a field that
// must not change, say. It returns the unit as it is rendered then, which takes the other's place
// in the output.
func (out *Output) Refuse(unit string, d diag.Diagnostic) *Unit {
	panic("not written yet")
}
