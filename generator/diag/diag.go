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
	"strings"
	"time"
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
	switch {
	case o.Name == "":
		return o.Kind
	case o.Namespace == "":
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Diagnostic is one problem. Whoever finds it fills in what they know; their callers add the rest on its way up. Its
// JSON is the same everywhere.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Path is the field that the problem is about, below the one that the finder looks at, and in the end below Object.
	Path string `json:"path"`
	// Message does not repeat Path.
	Message string `json:"message"`
	// Hint is the remedy; it may be empty.
	Hint string `json:"hint"`
	// Flags is the remedy that the flags of a command with PATHs are, if there is another than Hint; see
	// [Diagnostic.AtDesk].
	Flags string `json:"-"`
	// Names are the files and folders of Source that Message and Hint name as they are called there, for who shows them
	// in another folder.
	Names []string `json:"-"`
	File  string   `json:"file"`
	// Line and Column count from 1; 0 means unknown. They are in File or, until that is known, in the text that the
	// field at Path holds.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Cause is what several problems may have in common; it may be zero. The message says it, too.
	Cause Cause `json:"-"`
	// BuiltBy is the file of the kustomization, or the folder without one, that made the object of what File says; it
	// may be empty.
	BuiltBy string `json:"builtBy"`
	Object  Object `json:"object"`
	// Source is the source that File is in, if there are several: the URL of its repository, and its ref if several are
	// of that repository.
	Source string `json:"source"`
	// Units are the GrafanaAgents that it concerns, as namespace/name.
	Units []string `json:"units"`
	// Pipelines are those that it concerns, where several are shown together.
	Pipelines []string `json:"pipelines,omitempty"`
	// Related are the other objects that the problem depends on: the other one of a pair, or the Secret or
	// ConfigMap that a field refers to. Until Object is known, one without a namespace is in Object's.
	Related []Object `json:"related"`
	// Changed is the commit that last changed the document that it is in, and Owners are the owners of File by the
	// CODEOWNERS file of its source. Both are known only of the findings of a pipeline that are shown.
	Changed *Change  `json:"changed,omitempty"`
	Owners  []string `json:"owners,omitempty"`
}

// Change is a commit that changed something.
type Change struct {
	Commit  string    `json:"commit"` // full id
	Date    time.Time `json:"date"`   // of the author
	Author  string    `json:"author"` // Name <mail>
	Subject string    `json:"subject"`
}

// At returns a diagnostic about the field at path, with the code's severity.
func (c Code) At(path, format string, args ...any) Diagnostic {
	return Diagnostic{Severity: c.Severity(), Code: c, Path: path, Message: fmt.Sprintf(format, args...)}
}

// As returns the diagnostic with another severity than the first of its code.
func (d Diagnostic) As(s Severity) Diagnostic {
	d.Severity = s
	return d
}

// WithHint returns the diagnostic with a hint.
func (d Diagnostic) WithHint(hint string) Diagnostic {
	d.Hint = hint
	return d
}

// Naming returns the diagnostic with files and folders that its message or hint names.
func (d Diagnostic) Naming(names ...string) Diagnostic {
	d.Names = names
	return d
}

// WithFlags returns the diagnostic with the remedy that flags are.
func (d Diagnostic) WithFlags(flags string) Diagnostic {
	d.Flags = flags
	return d
}

// AtDesk returns the diagnostic as one of a command with PATHs: its flags are a remedy, beside a pipeline file if one
// governs, else alone.
func (d Diagnostic) AtDesk(hasFile bool) Diagnostic {
	d.Hint = atDesk(d.Hint, d.Flags, hasFile)
	d.Cause.Hint = atDesk(d.Cause.Hint, d.Cause.Flags, hasFile)
	d.Flags, d.Cause.Flags = "", ""
	return d
}

func atDesk(hint, flags string, hasFile bool) string {
	switch {
	case flags == "":
		return hint
	case hasFile && hint != "":
		return hint + "; " + flags
	}
	return flags
}

// Because returns the diagnostic with what it has in common with others, and the remedy for all of them.
func (d Diagnostic) Because(cause Cause) Diagnostic {
	d.Cause, d.Hint, d.Flags = cause, cause.Hint, cause.Flags
	return d
}

// With returns the diagnostic with other objects that the problem depends on.
func (d Diagnostic) With(related ...Object) Diagnostic {
	d.Related = slices.Concat(d.Related, related)
	return d
}

// InLine returns the diagnostic as one about a line of the text that the field holds.
func (d Diagnostic) InLine(line int) Diagnostic {
	d.Line, d.Message = line, fmt.Sprintf("line %d: %s", line, d.Message)
	return d
}

// Below returns the diagnostic as one about a field below the field at path, as errors are wrapped: the path of the
// diagnostic continues it.
func (d Diagnostic) Below(path string) Diagnostic {
	switch {
	case d.Path == "":
		d.Path = path
	case path == "" || strings.IndexByte(".[>", d.Path[0]) >= 0:
		d.Path = path + d.Path
	default:
		d.Path = path + "." + d.Path
	}
	return d
}

// String returns one line: position, severity, code, problem.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s[%s]: %s", d.Position(), d.Severity, d.Code, d.Problem())
}

// Problem returns the message behind the path of the field.
func (d Diagnostic) Problem() string {
	if d.Path == "" {
		return d.Message
	}
	return d.Field() + ": " + d.Message
}

// Field returns the path of the field. Where Path ends in >, the problem is in the text that the field holds.
func (d Diagnostic) Field() string { return strings.TrimSuffix(d.Path, ">") }

// Same reports whether two diagnostics report the same problem of the same object.
func (d Diagnostic) Same(other Diagnostic) bool { return d.Identity() == other.Identity() }

// Identity is equal for diagnostics that report the same problem of the same object.
type Identity struct {
	object                Object
	source, builtBy, text string
}

// Identity returns the diagnostic's identity.
func (d Diagnostic) Identity() Identity { return Identity{d.Object, d.Source, d.BuiltBy, d.String()} }

// Mistake is equal for diagnostics about the same mistake in a file, whatever is built from the file.
type Mistake struct {
	source, file  string
	line, column  int
	code          Code
	path, message string
}

// Mistake returns the mistake that the diagnostic is about.
func (d Diagnostic) Mistake() Mistake {
	return Mistake{d.Source, d.File, d.Line, d.Column, d.Code, d.Field(), d.Message}
}

// Error implements error, for problems because of which something cannot be done at all.
func (d *Diagnostic) Error() string {
	if d.File == "" {
		return d.Problem()
	}
	return d.String()
}

// Advice returns the problem with the hint, on one line.
func (d Diagnostic) Advice() string {
	if d.Hint == "" {
		return d.Problem()
	}
	return d.Problem() + "; " + d.Hint
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

// Add adds diagnostics.
func (l *List) Add(d ...Diagnostic) { *l = append(*l, d...) }

// Below returns the diagnostics as those about fields below the field at path; see [Diagnostic.Below].
func (l List) Below(path string) List {
	l = slices.Clone(l)
	for i := range l {
		l[i] = l[i].Below(path)
	}
	return l
}

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

// Sort orders the list by source, file, line, column, code and problem, so that equal inputs print equal reports.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		c := cmp.Or(
			cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.BuiltBy, b.BuiltBy),
			cmp.Compare(a.Code, b.Code),
		)
		if c != 0 { // without making the texts
			return c
		}
		return cmp.Or(cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Problem(), b.Problem()))
	})
}
