package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// What is printed goes to terminals and to logs of CI, which obey what stands in it. So every printer passes text that
// is not its own (names, keys, paths, messages of servers) through [OneLine], [Plain] or [WriteJSON].

var (
	// lineCommand matches a command to GitHub's runner, ::name::text, which begins a line.
	lineCommand = regexp.MustCompile(`^(\s*:)(:[A-Za-z].*::)`)
	// inlineCommand matches a command to the runners of GitHub, Azure and others, ##[name] or ##vso[name], anywhere.
	inlineCommand = regexp.MustCompile(`##(\w*)\[`)
)

// OneLine returns a text as one line that steers neither a terminal nor a CI runner.
func OneLine(s string) string {
	return lineCommand.ReplaceAllString(printable(strings.ReplaceAll(s, "\t", " ")), "$1 $2")
}

// Plain is [OneLine] for each line of a text.
func Plain(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = OneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

// printable is [OneLine] for a text that does not begin a line. It keeps tabs.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	return inlineCommand.ReplaceAllString(s, "# #$1[")
}

// WriteJSON writes a value as JSON, with escapes for what could steer a terminal or a CI runner.
func WriteJSON(w io.Writer, value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	out := make([]byte, 0, text.Len())
	for _, r := range inlineCommand.ReplaceAllString(text.String(), `##$1\u005b`) { // encoding/json writes valid UTF-8
		if r == '\n' || unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	_, err := w.Write(out)
	return err
}
