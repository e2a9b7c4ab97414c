package diag

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxExcerptBytes is the longest line that is quoted. Longer ones are minified JSON or data.
const maxExcerptBytes = 160

// Excerpt returns the line of the input that the diagnostic is about. It returns no line that can hold a byte of a
// Secret or another credential: the document must be one of the kinds that agentry reads for their settings, and
// neither the line nor a line that it can belong to may name a credential or look like one.
func (d Diagnostic) Excerpt(input []byte) (line string, ok bool) {
	begin, end := lineBounds(input, d.Line)
	raw := bytes.TrimSuffix(input[begin:end], []byte("\r"))
	if len(raw) == 0 && end == len(input) || len(raw) > maxExcerptBytes || !utf8.Valid(raw) ||
		bytes.ContainsRune(raw, '\r') {
		return "", false
	}
	first, last := documentBounds(input, begin, end)
	if d.Code == LiteralToken || !holdsSettings(input[first:last]) {
		return "", false
	}
	if slices.ContainsFunc(context(input[first:begin], raw), credentialLine) {
		return "", false
	}
	if text := string(raw); !credentialLine(raw) && !looksSecret(text) {
		return strings.TrimRight(printable(text), " \t"), true
	}
	return "", false
}

// lineBounds returns where line n, counted from 1, begins and ends. A line that does not exist is empty, at the end.
func lineBounds(input []byte, n int) (begin, end int) {
	if n < 1 {
		return len(input), len(input)
	}
	for ; n > 1; n-- {
		i := bytes.IndexByte(input[begin:], '\n')
		if i < 0 {
			return len(input), len(input)
		}
		begin += i + 1
	}
	if i := bytes.IndexByte(input[begin:], '\n'); i >= 0 {
		return begin, begin + i
	}
	return begin, len(input)
}

// documentBounds returns where the YAML document around a line begins and ends.
func documentBounds(input []byte, begin, end int) (first, last int) {
	separator := []byte("\n---")
	first, last = max(bytes.LastIndex(input[:end], separator), 0), len(input)
	if i := bytes.Index(input[end:], separator); i >= 0 {
		last = end + i
	}
	return min(first, begin), last
}

var (
	// apiVersion finds the API versions in YAML and JSON, in text that may be neither.
	apiVersion = regexp.MustCompile(`apiVersion["']?\s*:\s*["']?([^\s"',}]*)`)
	// secretKind finds the kind Secret and what may be meant as it.
	secretKind = regexp.MustCompile(`(?i)kind["']?\s*:[^\n,}]*secr`)
)

// holdsSettings reports whether a document is one of the kinds that agentry reads for their settings, and nothing else.
// A document that cannot be read may be anything, so this decides by its text.
func holdsSettings(document []byte) bool {
	found := apiVersion.FindAllSubmatch(document, -1)
	for _, match := range found {
		group, _, _ := strings.Cut(string(match[1]), "/")
		switch group {
		case "monitoring.coreos.com", "monitoring.grafana.com", "agentry.dev":
		default:
			return false
		}
	}
	return len(found) > 0 && !secretKind.Match(document)
}

// context returns the lines before a line that it can belong to: the one before it and, if that has no key, further
// ones up to a key; and those that the line is below by its indentation.
func context(before, line []byte) (lines [][]byte) {
	depth, inText := indentation(line), true
	for len(before) > 0 {
		before = bytes.TrimSuffix(before, []byte("\n"))
		begin := bytes.LastIndexByte(before, '\n') + 1
		above := before[begin:]
		before = before[:begin]
		if len(bytes.TrimSpace(above)) == 0 {
			continue
		}
		if at := indentation(above); inText || at < depth {
			lines, depth = append(lines, above), min(at, depth)
			inText = inText && !bytes.Contains(above, []byte(":"))
		}
	}
	return lines
}

// indentation returns the column of a line's text, after the dashes of lists.
func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t-")) }
