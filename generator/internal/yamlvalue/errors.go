package yamlvalue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

func errTooDeep() *Error {
	return &Error{Reason: Limit, Message: fmt.Sprintf("maps and lists are nested more than %d deep", MaxDepth)}
}

func errTooManyValues() *Error {
	return &Error{Reason: Limit, Message: fmt.Sprintf("more than %d values, with all aliases expanded", MaxValues)}
}

func errNotFinite() *Error {
	return &Error{Message: "infinity and not-a-number cannot be written as JSON",
		Hint: `quote it if you mean a string: ".inf"`}
}

func errKey(text string) *Error {
	if err := errTemplate(text); err != nil {
		return err
	}
	return &Error{Message: "a key is null, a list or a map"}
}

// actionPattern matches a line up to the braces of a template action, where YAML expects a key or a value.
var actionPattern = lazyregexp.New(`(?m)^[ -]*(?:[^\s"'#:]+:[ \t]+)?\{\{`)

// errTemplate returns an error at the first action of a template, or nil. It is called only for documents that are not
// valid YAML: an action in quotes is an ordinary text.
func errTemplate(text string) *Error {
	at := actionPattern.FindStringIndex(text)
	if at == nil {
		return nil
	}
	before := text[:at[1]-len("{{")]
	return &Error{
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		Message: "this is a template (such as Helm's), not YAML",
		Hint: "render it first, for example with helm template; or hide it with .sourceignore; or quote a value " +
			"that begins with {{",
	}
}

var linePattern = lazyregexp.New(`^line ([0-9]+): `)

// syntaxError translates an error of the YAML parser. It omits everything that could be part of a value.
func syntaxError(err error, text string) *Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	out := &Error{Line: 1}
	if match := linePattern.FindStringSubmatch(message); match != nil {
		message = message[len(match[0]):]
		out.Line, _ = strconv.Atoi(match[1])
		if isParserError(message) {
			out.Line++ // the scanner counts from 1, the parser from 0
		}
	}
	out.Line = min(out.Line, strings.Count(strings.TrimRight(text, "\n"), "\n")+1)
	if line := conflict(text); line > 0 {
		return &Error{Line: line, Column: 1, Message: "unresolved merge conflict"}
	}
	if err := errTemplate(text); err != nil {
		return err
	}
	if isParserError(message) || strings.HasPrefix(message, "found unexpected") ||
		strings.HasPrefix(message, "could not find") || strings.HasPrefix(message, noMapping) {
		if err := unclosedError(text, out.Line); err != nil {
			return err
		}
	}
	plain, hint := plainWords(message)
	switch {
	case strings.HasPrefix(message, "invalid map key"):
		message, out.Line = errKey(text).Message, 0
	case strings.HasPrefix(message, "unknown anchor"):
		return errAlias(text, strings.TrimSuffix(strings.TrimPrefix(message, "unknown anchor '"), "' referenced"))
	case strings.HasPrefix(message, "anchor '"):
		message, out.Line = "an anchor contains itself", 0
	case strings.HasPrefix(message, "cannot decode"):
		message, out.Line = "a value does not fit its tag", 0
	case strings.HasPrefix(message, "!!binary value"):
		out.Line = 0
	case strings.Contains(message, "excessive aliasing"):
		out.Reason, out.Line = Limit, 0
	case hint != "":
		message, out.Hint = plain, hint
	case strings.HasPrefix(message, noMapping):
		message = "a colon where no key is possible"
		out.Column, out.Hint = misplacedColon(text, out.Line)
	default: // unknown, and may quote a value
		message = "the document is not valid YAML"
	}
	out.Message = message
	return out
}

// isParserError reports whether an error is the parser's (an unexpected token), not the scanner's (no token).
func isParserError(message string) bool {
	if slices.Contains([]string{
		"did not find expected comment or line break", "did not find expected digit or '+'",
		"did not find expected digit", "did not find expected hexdecimal number",
		"did not find expected whitespace", "did not find expected alphabetic or numeric character",
		"did not find expected version number", "did not find expected tag URI", "did not find expected '!'",
		"did not find expected whitespace or line break",
	}, message) {
		return false
	}
	return strings.HasPrefix(message, "did not find expected") ||
		strings.HasPrefix(message, "found undefined tag handle") ||
		strings.HasPrefix(message, "found duplicate %") ||
		strings.HasPrefix(message, "found incompatible YAML document")
}

// conflict returns the line of the first conflict marker of Git, or 0.
func conflict(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(line, "<<<<<<< ") {
			return number
		}
	}
	return 0
}
