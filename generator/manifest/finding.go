package manifest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// finding is a diagnostic about the object, before its position is looked up.
type finding struct {
	severity diag.Severity
	code     diag.Code
	path     string
	message  string
	hint     string
	// The position in the text that the field holds; zero if it is about the field.
	line, column int
}

// rank orders findings so that the limit cuts off what may be ignored: warnings, and before them unknown fields.
func (f finding) rank() int {
	switch {
	case f.severity != diag.Error:
		return 2
	case f.code == diag.UnknownField:
		return 1
	}
	return 0
}

// findings are the findings about one object.
type findings []finding

func (f *findings) fail(code diag.Code, path, message, hint string) {
	*f = append(*f, finding{severity: diag.Error, code: code, path: path, message: message, hint: hint})
}

// failInside reports an error in the text that a field holds.
func (f *findings) failInside(path string, line, column int, message, hint string) {
	f.fail(diag.InvalidField, path, message, hint)
	last := &(*f)[len(*f)-1]
	last.line, last.column = line, column
}

// unknownField reports a field that the object's kind does not have. It is written beside others in the object.
func (f *findings) unknownField(at place, path, name string, known []string) {
	hint := diag.DidYouMean(name, known)
	if meant, found := diag.Suggest(name, known); found && at.has(strings.TrimSuffix(path, name)+meant) {
		hint = meant + " is there as well: leave this one out"
	}
	if hint == "" && name != path {
		hint = diag.Fields(known)
	}
	f.fail(diag.UnknownField, path, unknownField, hint)
}

func (f *findings) warn(code diag.Code, path, message, hint string) {
	*f = append(*f, finding{severity: diag.Warning, code: code, path: path, message: message, hint: hint})
}

// failed reports whether an error was found.
func (f findings) failed() bool {
	return slices.ContainsFunc(f, func(f finding) bool { return f.severity == diag.Error })
}

// onlyUnknownFields reports whether all errors are about fields that the object's kind does not have.
func (f findings) onlyUnknownFields() bool {
	return !slices.ContainsFunc(f, func(f finding) bool { return f.severity == diag.Error && f.code != diag.UnknownField })
}

// diags converts the findings to diagnostics with positions.
func (f findings) diags(o *Object) diag.List {
	slices.SortStableFunc(f, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.path, b.path), cmp.Compare(a.message, b.message))
	})
	var list diag.List
	for i, one := range f {
		if i == MaxFindings {
			list = append(list, o.Diag(one.severity, one.code, "", "further findings are not shown"))
			break
		}
		d := o.Diag(one.severity, one.code, one.path, "%s", one.message)
		d.Hint = o.at.conceal("", one.hint)
		if one.line > 0 {
			d.Line, d.Column = o.ValuePosition(one.path, one.line, one.column)
		}
		list = append(list, d)
	}
	return list
}
