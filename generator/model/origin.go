package model

import (
	"github.com/agentry-dev/agentry/generator/diag"
)

// Origin is the field of an object that a part of a model comes from. It is for findings: two
// parts of different origin can be equal.
type Origin struct {
	Object diag.Object
	Path   string
}

// Finding is what is wrong with a part of a model.
type Finding struct {
	Object diag.Object
	diag.Finding
	// TextLine is the line of the text that the field holds; 0 is the field itself.
	TextLine int
}

// Find is what a runtime finds in a field below the origin; an empty one is the origin itself.
func (o Origin) Find(s diag.Severity, code diag.Code, field, message string, related ...diag.Object) Finding {
	return Finding{Object: o.Object, Finding: diag.Finding{Severity: s, Code: code, Path: o.Path + field, Message: message, Related: related}}
}
