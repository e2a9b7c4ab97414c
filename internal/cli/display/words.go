// Package display writes the results of commands, for people and as JSON. Foreign text cannot start a new line or
// control a terminal, and colours add no information.
package display

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// printf is fmt.Fprintf, with each text among the arguments as [diag.OneLine] makes it.
func printf(w io.Writer, format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case highlighted:
			args[i] = arg.String()
		case fmt.Stringer:
			args[i] = diag.OneLine(arg.String())
		default:
			if text := reflect.ValueOf(arg); text.Kind() == reflect.String {
				args[i] = diag.OneLine(text.String())
			}
		}
	}
	fmt.Fprintf(w, format, args...)
}

// highlighted is a word, in colour if there are any.
type highlighted struct {
	word  string
	color bool
}

// String returns the word with its colour.
func (h highlighted) String() string {
	word := diag.OneLine(h.word)
	if !h.color {
		return word
	}
	return "\x1b[1;33m" + word + "\x1b[0m"
}

// Amount returns a number with its noun.
func Amount(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(noun, n))
}

func plural(word string, count int) string {
	if count == 1 || strings.HasSuffix(word, "s") {
		return word
	}
	return word + "s"
}

// Total returns the sum of the counts.
func Total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
