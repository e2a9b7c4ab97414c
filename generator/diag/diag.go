// Package diag has the type of every problem that agentry reports, and the printers for it.
//
// A [Diagnostic] says what is wrong (a stable [Code], a severity, a message), where (source, file, line,
// column, object) and what to do about it. Diagnostics are plain values: packages collect them in a [List] and
// return it. There are no callbacks and no global state. No message contains a byte of a Secret.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is how serious a diagnostic is.
type Severity string

const (
	// Error is for an object that cannot be rendered as written: its last good version is rendered.
	Error Severity = "error"
	// Warning is for an object that is rendered, but perhaps not as its author expects.
	Warning Severity = "warning"
	// Info is for something worth knowing that needs no change.
	Info Severity = "info"
)

// Object names a Kubernetes object. Empty fields are unknown.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// String returns Kind/namespace/name, as agentry names objects everywhere.
func (o Object) String() string {
	if o == (Object{}) {
		return ""
	}
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Diagnostic is one problem. Line and Column count from 1; 0 means unknown. Its JSON is the same everywhere.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`
	// Hint says what to do; it may be empty.
	Hint   string `json:"hint"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// BuiltBy is the file of the kustomization that made the object of what File says; it may be empty.
	BuiltBy string `json:"builtBy"`
	Object  Object `json:"object"`
	// Source is the repository, if there are several.
	Source string `json:"source"`
	// Units are the GrafanaAgents that it concerns, as namespace/name.
	Units []string `json:"units"`
	// Related are the other objects that the problem depends on: the other one of a pair, or the Secret or
	// ConfigMap that a field refers to.
	Related []Object `json:"related"`
}

// String returns one line: position, severity, code, object, message.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s[%s]: %s", d.Position(), d.Severity, d.Code, d.Message)
}

// Same reports whether two diagnostics report the same problem of the same object.
func (d Diagnostic) Same(other Diagnostic) bool {
	return d.Object == other.Object && d.Source == other.Source && d.BuiltBy == other.BuiltBy &&
		d.String() == other.String()
}

// Advice returns the message with the hint, on one line.
func (d Diagnostic) Advice() string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + "; " + d.Hint
}

// Sentence returns the position, the object and the advice, on one line.
func (d Diagnostic) Sentence() string {
	text := d.Advice()
	if d.Object != (Object{}) {
		text = d.Object.String() + ": " + text
	}
	if d.File != "" {
		text = d.Position() + ": " + text
	}
	return text
}

// Position returns file:line:column, without the parts that are unknown.
func (d Diagnostic) Position() string {
	file := d.File
	if file == "" {
		file = "-"
	}
	switch {
	case d.Line == 0:
		return file
	case d.Column == 0:
		return fmt.Sprintf("%s:%d", file, d.Line)
	}
	return fmt.Sprintf("%s:%d:%d", file, d.Line, d.Column)
}

// List is a collection of diagnostics.
type List []Diagnostic

// Count returns the number of diagnostics with the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sort orders the list by source, file, line, column, code and message, so that equal inputs print equal reports.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.BuiltBy, b.BuiltBy),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Object.String(), b.Object.String()),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// Finding is a diagnostic without its object, for packages that see only a part of a custom resource. The
// caller adds the object. Path is the path of the problem in the object.
type Finding struct {
	Severity Severity
	Code     Code
	Path     string
	Message  string
	Hint     string
	// Related are the other objects that the problem depends on, as in a [Diagnostic]. An object without a
	// namespace is in the namespace of the finding's object.
	Related []Object
}
