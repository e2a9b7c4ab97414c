package yamlvalue

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// noMapping is the parser's message for an unexpected colon.
const noMapping = "mapping values are not allowed"

const (
	// maxColonBytes and maxColons limit the search for the unexpected colon, in bytes of text and colons on its
	// line: the search parses the text once for each colon.
	maxColonBytes = 64 << 10
	maxColons     = 16
)

// misplacedColon returns a hint about a line with an unexpected colon, and the colon's column, or 0 if it is unknown.
func misplacedColon(text string, number int) (column int, hint string) {
	const (
		quote  = "quote a value that contains a colon followed by a space"
		unsure = quote + "; or a colon is missing in the line above, or the indentation is wrong"
	)
	if len(text) > maxColonBytes {
		return 0, unsure
	}
	lines := strings.Split(text, "\n") // has at least number lines, see syntaxError
	line := strings.TrimSuffix(lines[number-1], "\r")
	before := strings.Join(lines[:number-1], "\n") + "\n"
	colons := colonsOf(line)
	at := sort.Search(len(colons), func(i int) bool { return isMisplaced(before + line[:colons[i]+1]) })
	if at == len(colons) {
		return 0, unsure
	}
	column = utf8.RuneCountInString(line[:colons[at]]) + 1
	if at > 0 {
		return column, quote
	}
	return column, continued(lines, number, quote)
}

// continued returns a hint for a key that YAML reads as part of the preceding text. For other keys it returns
// otherwise.
func continued(lines []string, number int, otherwise string) string {
	above := number - 1
	for above > 0 && strings.TrimSpace(lines[above-1]) == "" {
		above--
	}
	where := "the line above"
	switch {
	case above == 0:
		return otherwise
	case number-above > 1:
		where = fmt.Sprintf("the text %d lines above", number-above)
	}
	if len(colonsOf(lines[above-1])) == 0 {
		return "a colon may be missing after the key in " + where
	}
	return "this line is read as part of the value in " + where + ": indent the two keys equally, or quote the value"
}

// colonsOf returns the offsets of the colons in a line that could end a key, up to maxColons.
func colonsOf(line string) []int {
	var out []int
	for i := 0; i < len(line) && len(out) < maxColons; i++ {
		if line[i] == ':' && (i+1 == len(line) || strings.IndexByte(" \t\r", line[i+1]) >= 0) {
			out = append(out, i)
		}
	}
	return out
}

// isMisplaced reports whether the parser fails at an unexpected colon at the end of the text.
func isMisplaced(text string) bool {
	var ignored any
	err := yaml.Unmarshal([]byte(text), &ignored)
	return err != nil && strings.Contains(err.Error(), noMapping)
}
