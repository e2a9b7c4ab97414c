package diag

import (
	"io"
	"strings"
	"unicode"
)

// Printer writes a whole report in one format. The list is printed in its order.
type Printer interface {
	Print(w io.Writer, list List) error
}

// printable replaces what could steer a terminal: inputs are foreign text. Tabs and line
// breaks stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// oneLine is printable without line breaks, for names, which could forge a line of a
// report with them.
func oneLine(s string) string {
	return printable(strings.ReplaceAll(s, "\n", string(unicode.ReplacementChar)))
}
