package diag

import (
	"bytes"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// maxExcerptBytes is the longest line that is quoted. Longer ones are minified JSON or data.
const maxExcerptBytes = 160

// Quoter finds the lines of the input that diagnostics are about. It reads and indexes a file once for all diagnostics
// about it that follow each other, as in a sorted list.
type Quoter struct {
	// Input returns the text of an input file, or nil.
	Input func(source, file string) []byte

	source, file string
	lines        *lines // of that file; nil before the first one
}

// Excerpt returns the line that a diagnostic is about. It returns no line that can hold a byte of a Secret or another
// credential: the document must be one of the kinds that agentry reads for their settings, and neither the line nor a
// line that it can belong to may name a credential or look like one.
func (q *Quoter) Excerpt(d Diagnostic) (line string, ok bool) {
	if d.Line < 1 || d.Code == LiteralToken {
		return "", false
	}
	if q.lines == nil || q.source != d.Source || q.file != d.File {
		q.source, q.file, q.lines = d.Source, d.File, indexed(q.Input(d.Source, d.File))
	}
	if d.Line > len(q.lines.begins) {
		return "", false
	}
	i := d.Line - 1
	raw := bytes.TrimSuffix(q.lines.at(i), []byte("\r"))
	if len(raw) == 0 && i == len(q.lines.begins)-1 || len(raw) > maxExcerptBytes || !utf8.Valid(raw) ||
		bytes.ContainsRune(raw, '\r') {
		return "", false
	}
	text := string(raw)
	if !q.lines.inSettings(i) || credentialLine(raw) || looksSecret(text) ||
		slices.ContainsFunc(q.lines.context(i), credentialLine) {
		return "", false
	}
	return strings.TrimRight(printable(text), " \t"), true
}

// lines is the text of a file with an index of its lines, so that an excerpt costs the same in files of all sizes.
type lines struct {
	text   []byte
	begins []int32 // where each line begins
	// parents are the nearest lines above that are indented less, or -1. Blank lines have none and are none.
	parents []int32
	// documents are the first lines of YAML documents.
	documents []int

	settings struct { // of the document that was asked for last
		first int
		known bool
		holds bool
	}
}

// indexed returns the lines of a text.
func indexed(text []byte) *lines {
	count := bytes.Count(text, []byte("\n")) + 1
	l := &lines{text: text, begins: make([]int32, 0, count), parents: make([]int32, count), documents: []int{0}}
	for begin := 0; begin >= 0; {
		l.begins = append(l.begins, int32(begin))
		if next := bytes.IndexByte(text[begin:], '\n'); next >= 0 {
			begin += next + 1
		} else {
			begin = -1
		}
	}
	last := int32(-1) // line that is not blank
	for i := range l.begins {
		line := l.at(i)
		if i > 0 && bytes.HasPrefix(line, []byte("---")) {
			l.documents = append(l.documents, i)
		}
		if l.parents[i] = -1; isBlank(line) {
			continue
		}
		above := last
		for above >= 0 && indentation(l.at(int(above))) >= indentation(line) {
			above = l.parents[above]
		}
		l.parents[i], last = above, int32(i)
	}
	return l
}

// at returns a line without its line break.
func (l *lines) at(i int) []byte {
	if i+1 == len(l.begins) {
		return l.text[l.begins[i]:]
	}
	return l.text[l.begins[i] : l.begins[i+1]-1]
}

// document returns the first line of the document that a line is in, and of the next one.
func (l *lines) document(i int) (first, next int) {
	after := sort.SearchInts(l.documents, i+1)
	if first = l.documents[after-1]; after == len(l.documents) {
		return first, len(l.begins)
	}
	return first, l.documents[after]
}

// inSettings reports whether a line is in a document that holds settings, and nothing else.
func (l *lines) inSettings(i int) bool {
	first, next := l.document(i)
	if s := &l.settings; !s.known || s.first != first {
		end := len(l.text)
		if next < len(l.begins) {
			end = int(l.begins[next])
		}
		s.first, s.known, s.holds = first, true, holdsSettings(l.text[l.begins[first]:end])
	}
	return l.settings.holds
}

// context returns the lines before a line that it can belong to: the one before it and, if that has no key, further
// ones up to a key; and those that the line is below by its indentation.
func (l *lines) context(i int) (out [][]byte) {
	first, _ := l.document(i)
	depth, above := indentation(l.at(i)), int32(-1)
	for j := i - 1; j >= first && above < 0; j-- {
		line := l.at(j)
		if isBlank(line) {
			continue
		}
		if out, depth = append(out, line), min(depth, indentation(line)); bytes.Contains(line, []byte(":")) {
			above = int32(j)
		}
	}
	for above >= 0 {
		if above = l.parents[above]; above < int32(first) {
			break
		}
		if line := l.at(int(above)); indentation(line) < depth {
			out, depth = append(out, line), indentation(line)
		}
	}
	return out
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

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

// indentation returns the column of a line's text, after the dashes of lists.
func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t-")) }
