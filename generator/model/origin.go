package model

import (
	"github.com/agentry-dev/agentry/generator/diag"
)

// Origin is the object and field that a part of a model comes from, for diagnostics. Parts with different origins can
// be equal.
type Origin struct {
	Object diag.Object
	Path   string
}

// Place returns a diagnostic about a field below the origin, or about the origin itself, as one about its object.
func (o Origin) Place(d diag.Diagnostic) diag.Diagnostic {
	d.Object = o.Object
	return d.Below(o.Path)
}
