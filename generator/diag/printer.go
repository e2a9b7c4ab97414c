package diag

import (
	"io"
	"strings"
	"unicode"
)

// Printer writes a whole report in one format, in the order of the list.
type Printer interface {
	Print(w io.Writer, list List) error
}

// printable replaces characters that could control a terminal, because inputs are foreign text. It keeps tabs
// and line breaks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// oneLine is printable without line breaks. It is for names, which could otherwise fake a line of a report.
func oneLine(s string) string {
	return printable(strings.ReplaceAll(s, "\n", string(unicode.ReplacementChar)))
}
