package model

import (
	"github.com/agentry-dev/agentry/generator/diag"
)

// Origin is the object and field that a part of a model comes from, for findings. Parts with different origins can be
// equal.
type Origin struct {
	Object diag.Object
	Path   string
}

// Finding is a problem in a part of a model.
type Finding struct {
	Object diag.Object
	diag.Finding
	// TextLine is the line in the text that the field holds, or 0 for the field itself.
	TextLine int
}

// Find returns a finding about a field below the origin, or about the origin itself if the field is empty.
func (o Origin) Find(s diag.Severity, code diag.Code, field, message string, related ...diag.Object) Finding {
	return Finding{Object: o.Object,
		Finding: diag.Finding{Severity: s, Code: code, Path: o.Path + field, Message: message, Related: related}}
}
