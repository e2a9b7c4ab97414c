package diag

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxExcerptBytes is the longest line that is quoted. Longer ones are minified JSON or data.
const maxExcerptBytes = 160

// secretKind finds the kind Secret or SecretList in YAML and JSON.
var secretKind = regexp.MustCompile(`kind["']?\s*:\s*["']?Secret`)

// secretInLine finds plain-text credentials where none belong: user info in a URL, except the login of an SSH
// URL, and bearer tokens.
var secretInLine = regexp.MustCompile(`https?://[^/\s"'@]+@|://[^/\s"'@]*:[^/\s"'@]*@|bearerToken["']?\s*:`)

// secretField finds fields of integrations that can hold a plain-text credential.
var secretField = regexp.MustCompile(`(?i)(?:password|passwd|secret|token|key|community|auth|data_source|connection_string|uri)[a-z_]*["']?\s*:`)

// credentials reports whether a line can contain a credential of the object.
func credentials(d Diagnostic, line []byte) bool {
	switch d.Object.Kind {
	case "Secret":
		return true
	case "Integration", "MetricsIntegration":
		return secretField.Match(line)
	}
	return d.Code == LiteralToken
}

// excerpt returns the line of the input that the diagnostic is about. It returns no line that could contain a
// byte of a Secret: no line of a Secret, no line of a text with a Secret in it if the object is unknown, and no
// plain-text credential.
func excerpt(d Diagnostic, input []byte) (string, bool) {
	line, ok := lineOf(input, d.Line)
	if !ok || len(line) > maxExcerptBytes || !utf8.Valid(line) {
		return "", false
	}
	visible := line
	if d.Object.Kind == "" || strings.HasSuffix(d.Object.Kind, "List") {
		visible = input
	}
	if credentials(d, line) || secretKind.Match(visible) || secretInLine.Match(line) {
		return "", false
	}
	return strings.TrimRight(printable(string(line)), " \t"), true
}

// lineOf returns line n, counted from 1, without its line break.
func lineOf(input []byte, n int) ([]byte, bool) {
	if n < 1 {
		return nil, false
	}
	for ; n > 1; n-- {
		i := bytes.IndexByte(input, '\n')
		if i < 0 {
			return nil, false
		}
		input = input[i+1:]
	}
	if len(input) == 0 {
		return nil, false
	}
	line, _, _ := bytes.Cut(input, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), true
}
