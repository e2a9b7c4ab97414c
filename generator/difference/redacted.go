package difference

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Redacted returns the lines of a unit's file without secrets: everything that a difference hides is hidden here too,
// which is all values of Secrets, wherever they are, and credentials. name is the name of the file, and manifests are
// those in its folder. It returns an error for a text that agentry does not write.
func Redacted(name string, text []byte, manifests []Manifest) ([]string, error) {
	var pairs []Pair
	for _, m := range manifests {
		pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, Before: m.Version, After: m.Version})
	}
	s := &redactor{lines: linesOf(text)}
	if len(pairs) > 0 {
		s.values = newUnit(pairs).secretValues()
	}
	s.hidden, s.starts = make([]string, len(s.lines)), make([]bool, len(s.lines))
	if review, ok := strings.CutSuffix(name, ".txt"); ok {
		err := s.configuration(review, text, 0)
		return s.all(), err
	}
	m, ok := Read("", text)
	if !ok {
		return nil, errors.New("not a Kubernetes object")
	}
	key, head, config := splitData(text)
	if m.ID.Kind == "Secret" && config != nil && isConfiguration(key) &&
		bytes.HasPrefix(text[len(head):], []byte("\nstringData:")) {
		s.walk(head, 0)
		err := s.configuration(key, config, bytes.Count(head, []byte("\n"))+3)
		return s.all(), err
	}
	s.isSecret = m.ID.Kind == "Secret"
	s.walk(text, 0)
	return s.all(), nil
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// redactor hides values in the lines of a text.
type redactor struct {
	secrets
	lines  []string
	hidden []string // by line: the text shown instead of its value
	starts []bool   // by line: whether a value begins in it
}

// configuration hides the secrets in a configuration that begins at a line. name ends with the key of its language.
func (s *redactor) configuration(name string, text []byte, first int) error {
	switch {
	case strings.HasSuffix(name, agentKey):
		s.walk(text, first)
	case strings.HasSuffix(name, alloyKey):
		s.alloy(linesOf(text), first)
	default:
		return errors.New("not a file that agentry writes")
	}
	return nil
}

// walk hides secret scalars in a YAML text that begins at a line.
func (s *redactor) walk(text []byte, first int) {
	at, line := 0, first
	var visit func(n *node, from int)
	visit = func(n *node, from int) {
		n.read()
		if n.text != nil {
			// Parts of the text are slices of it, so their capacity ends where it ends. They are visited in order.
			offset := cap(text) - cap(n.text)
			line += bytes.Count(text[at:offset], []byte("\n"))
			at, from = offset, line
		}
		own := min(from+max(n.line, 1)-1, len(s.lines)-1)
		s.starts[own] = true
		if n.shape == scalar {
			if h, ok := s.scalar(n).(Hidden); ok {
				s.hide(own, h.Text)
			}
		}
		for _, list := range [...][]*node{n.fields, n.items} {
			for _, child := range list {
				visit(child, from)
			}
		}
	}
	visit(&node{text: text}, first)
}

// hide hides the value that begins in a line.
func (s *redactor) hide(line int, shown string) {
	if s.hidden[line] != "" || strings.Contains(shown, "\n") {
		shown = placeholder
	}
	s.hidden[line] = shown
}

// beforeValue matches the part of a line before a value.
var beforeValue = lazyregexp.New(`^\s*(?:- +)*(?:[A-Za-z_][\w./-]*(?:: +| += +))?`)

// all returns the lines. It also hides the further lines of a hidden value, up to the next value.
func (s *redactor) all() []string {
	out := make([]string, len(s.lines))
	inHidden := false
	for i, line := range s.lines {
		switch {
		case s.hidden[i] != "":
			inHidden = true
			out[i] = beforeValue.FindString(line) + s.hidden[i]
		case inHidden && !s.starts[i] && strings.TrimSpace(line) != "":
			out[i] = line[:len(line)-len(strings.TrimLeft(line, " "))] + placeholder
		case strings.Contains(line, "#") && (s.isSecret || s.isSuspect(line)): // a comment is not a value
			out[i] = placeholder
		default:
			inHidden = inHidden && !s.starts[i]
			out[i] = line
		}
		out[i] = strings.Map(visible, out[i])
	}
	return out
}

// isSuspect reports whether an unparsed text looks like a credential or contains one.
func (s *redactor) isSuspect(text string) bool {
	return !diag.MayQuote("", text) || slices.ContainsFunc(s.values, func(v string) bool {
		return len(v) >= minContained && strings.Contains(text, v)
	})
}

// visible replaces characters that could control a terminal or reverse the direction of text.
func visible(r rune) rune {
	if r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
