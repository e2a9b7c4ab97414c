package diag

import "io"

// JSON prints one array. Every key is always present: if something is unknown, object is null, line and column
// are 0, and units and related are empty arrays.
type JSON struct{}

var _ Printer = JSON{}

// JSONDiagnostic is a diagnostic as [JSON] prints it.
type JSONDiagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	BuiltBy  string   `json:"builtBy"`
	Object   *Object  `json:"object"`
	Source   string   `json:"source"`
	Units    []string `json:"units"`
	Related  []Object `json:"related"`
}

// Print implements Printer.
func (JSON) Print(w io.Writer, list List) error {
	return WriteJSON(w, NewJSON(list))
}

// NewJSON returns the diagnostics as part of a larger document.
func NewJSON(list List) []JSONDiagnostic {
	out := make([]JSONDiagnostic, 0, len(list))
	for _, d := range list {
		out = append(out, newJSONDiagnostic(d))
	}
	return out
}

func newJSONDiagnostic(d Diagnostic) JSONDiagnostic {
	j := JSONDiagnostic{
		Severity: d.Severity, Code: d.Code, Message: d.Problem(), Hint: d.Hint,
		File: d.File, Line: d.Line, Column: d.Column, BuiltBy: d.BuiltBy, Source: d.Source, Units: d.Units,
		Related: d.Related,
	}
	if d.Object != (Object{}) {
		j.Object = &d.Object
	}
	if j.Units == nil {
		j.Units = []string{}
	}
	if j.Related == nil {
		j.Related = []Object{}
	}
	return j
}
