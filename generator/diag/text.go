package diag

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Text prints for people: a line that editors and terminals link to the position, the line of the input with a
// caret below it, and the hint.
//
//	api.yaml:12:7: error[unknown-field]: ServiceMonitor/team-a/api: spec.intreval: unknown field
//	  12 |   intreval: 30s
//	     |   ^
//	  hint: did you mean interval?
type Text struct {
	// Color adds ANSI colours.
	Color bool
	// Input returns the text of an input file, or nil. If it is nil or returns nil, or the line could contain a
	// byte of a Secret, no line is quoted.
	Input func(source, file string) []byte
}

var _ Printer = Text{}

// ANSI sequences. Colours add no information.
const (
	ansiReset  = "\x1b[0m"
	ansiBold   = "\x1b[1m"
	ansiRed    = "\x1b[1;31m"
	ansiYellow = "\x1b[1;33m"
	ansiBlue   = "\x1b[1;34m"
	ansiGreen  = "\x1b[32m"
)

// Print implements Printer.
func (t Text) Print(w io.Writer, list List) error {
	out := bufio.NewWriter(w)
	list = list.once()
	quoter := &Quoter{Input: t.Input}
	apart, blocks := list.together()
	worst := apart.worst(maxPrinted)
	for _, d := range worst {
		out.WriteString(t.one(d, quoter))
	}
	if more := len(apart) - len(worst); more > 0 {
		fmt.Fprintf(out, "and %d more: --format json lists all\n", more)
	}
	for _, of := range blocks {
		out.WriteString(t.one(of.diagnostic(), quoter))
	}
	return out.Flush()
}

// maxPrinted is how many problems are printed. More are counted: nobody reads them.
const maxPrinted = 1000

// worst returns up to n diagnostics in their order: errors rather than warnings, and those rather than the rest.
func (l List) worst(n int) List {
	if len(l) <= n {
		return l
	}
	left := map[Severity]int{}
	for _, s := range []Severity{Error, Warning, Info} {
		left[s] = min(n, l.Count(s))
		n -= left[s]
	}
	var out List
	for _, d := range l {
		if left[d.Severity] > 0 {
			left[d.Severity]--
			out = append(out, d)
		}
	}
	return out
}

func (t Text) one(d Diagnostic, quoter *Quoter) string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(t.paint(ansiBold, OneLine(d.Position())) + ": ")
	}
	b.WriteString(t.paint(severityColor(d.Severity), string(d.Severity)+"["+string(d.Code)+"]") + ": ")
	if name := d.Object.String(); name != "" {
		b.WriteString(OneLine(name) + ": ")
	}
	b.WriteString(indented(d.Problem()) + "\n")
	b.WriteString(t.quote(d, quoter))
	if d.BuiltBy != "" {
		b.WriteString("  built by: " + OneLine(d.BuiltBy) + "\n")
	}
	if d.Source != "" {
		b.WriteString("  source: " + OneLine(d.Source) + "\n")
	}
	if len(d.Pipelines) > 0 {
		b.WriteString("  pipelines: " + OneLine(strings.Join(d.Pipelines, ", ")) + "\n")
	}
	if d.Hint != "" {
		b.WriteString("  " + t.paint(ansiGreen, "hint") + ": " + indented(d.Hint) + "\n")
	}
	return b.String()
}

// quote returns the line that the diagnostic is about, with a caret at its column.
func (t Text) quote(d Diagnostic, quoter *Quoter) string {
	if t.Input == nil {
		return ""
	}
	line, ok := quoter.Excerpt(d)
	if !ok {
		return ""
	}
	number := strconv.Itoa(d.Line)
	quoted := "  " + number + " | " + line + "\n"
	if d.Column == 0 {
		return quoted
	}
	margin := "  " + strings.Repeat(" ", len(number)) + " | "
	return quoted + margin + caretPadding(line, d.Column) + t.paint(severityColor(d.Severity), "^") + "\n"
}

// caretPadding returns white space as wide as the text before the column, tabs included.
func caretPadding(line string, column int) string {
	var b strings.Builder
	for _, r := range line {
		if column--; column == 0 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (t Text) paint(color, s string) string {
	if !t.Color {
		return s
	}
	return color + s + ansiReset
}

func severityColor(s Severity) string {
	switch s {
	case Error:
		return ansiRed
	case Warning:
		return ansiYellow
	}
	return ansiBlue
}

// indented indents all lines of a text except the first.
func indented(s string) string {
	return strings.ReplaceAll(Plain(s), "\n", "\n    ")
}

// fullText returns the problem with the object, what built it and the hint, in lines: sites show no other fields.
func (d Diagnostic) fullText() string {
	text := d.Problem()
	if name := d.Object.String(); name != "" {
		text = OneLine(name) + ": " + text
	}
	if d.BuiltBy != "" {
		text += "\nbuilt by: " + OneLine(d.BuiltBy)
	}
	if d.Hint != "" {
		text += "\nhint: " + d.Hint
	}
	return text
}
