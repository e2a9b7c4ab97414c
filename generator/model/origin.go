package model

import (
	"strconv"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Origin is the object and field that a part of a model comes from, for diagnostics. Parts with different origins can
// be equal.
type Origin struct {
	Object diag.Object
	Path   string
}

// Written is the field that the author of a relabelling rule wrote. Thousands of jobs have rules, so a path is made
// only for those who ask. The zero value is for rules that agentry adds.
type Written struct {
	// Object is nil if it is the object that the job or writer comes from.
	Object *diag.Object
	// Field is the path of the field in the object, or below the origin of the job or writer (IsBelow).
	Field   string
	IsBelow bool
	// Item counts the items of the field from 1; 0 is the field itself.
	Item int
}

// Origin returns the origin of a rule of a job or writer that comes from another one. It returns false if agentry
// adds the rule.
func (w Written) Origin(of Origin) (Origin, bool) {
	if w.Field == "" {
		return Origin{}, false
	}
	if w.Object != nil {
		of.Object = *w.Object
	}
	if w.IsBelow {
		of.Path += "." + w.Field
	} else {
		of.Path = w.Field
	}
	if w.Item > 0 {
		of.Path += "[" + strconv.Itoa(w.Item-1) + "]"
	}
	return of, true
}

// Place returns a diagnostic about a field below the origin, or about the origin itself, as one about its object.
func (o Origin) Place(d diag.Diagnostic) diag.Diagnostic {
	d.Object = o.Object
	return d.Below(o.Path)
}
