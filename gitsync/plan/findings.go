package plan

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Findings are what a stage of a pass found.
type Findings struct {
	Diags diag.List
	// Refused is the error for which nothing is written; nil if there is none.
	Refused *diag.Diagnostic
}

// Merge adds what another stage found.
func (f *Findings) Merge(other Findings) {
	f.Diags = append(f.Diags, other.Diags...)
	if other.Refused != nil {
		f.RefuseFor(*other.Refused)
	}
}

// RefuseFor sets an error, which is among the findings, as the reason to write nothing. Of several errors the one whose
// file comes first is the reason, in whatever order they are set.
func (f *Findings) RefuseFor(d diag.Diagnostic) {
	if f.Refused == nil || d.File < f.Refused.File {
		f.Refused = &d
	}
}

// refuse adds an error for which nothing is written.
func (f *Findings) refuse(code diag.Code, file, hint, format string, args ...any) {
	f.add(diag.Error, code, file, hint, format, args...)
	f.RefuseFor(f.Diags[len(f.Diags)-1])
}

func (f *Findings) warn(code diag.Code, file, hint, format string, args ...any) {
	f.add(diag.Warning, code, file, hint, format, args...)
}

func (f *Findings) add(severity diag.Severity, code diag.Code, file, hint, format string, args ...any) {
	f.Diags = append(f.Diags, diag.Diagnostic{
		Severity: severity, Code: code, File: file, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}
