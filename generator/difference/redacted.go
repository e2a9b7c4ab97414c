package difference

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Redacted returns the lines of a file of a unit as people may see them. What a difference does not show is not shown
// here: values of Secrets, wherever they are, and credentials. name is the file's, and unit has the manifests in its
// folder. The error is for a text that agentry does not write.
func Redacted(name string, text []byte, manifests []Manifest) ([]string, error) {
	var pairs []Pair
	for _, m := range manifests {
		pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, Before: m.Version, After: m.Version})
	}
	s := &shower{lines: linesOf(text)}
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
		return nil, errors.New("there is no object in it")
	}
	key, head, config := written(text)
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

// shower hides lines of a text.
type shower struct {
	secrets
	lines  []string
	hidden []string // by the line: what is shown instead of its value
	starts []bool   // by the line: a value begins in it
}

// configuration hides what is secret in the configuration that begins at a line. name ends with the key of its
// language.
func (s *shower) configuration(name string, text []byte, first int) error {
	switch {
	case strings.HasSuffix(name, agentKey):
		s.walk(text, first)
	case strings.HasSuffix(name, alloyKey):
		s.alloy(linesOf(text), first)
	default:
		return errors.New("agentry writes no such file")
	}
	return nil
}

// walk hides scalars of a YAML text that begins at a line.
func (s *shower) walk(text []byte, first int) {
	at, line := 0, first
	var visit func(n *node, from int)
	visit = func(n *node, from int) {
		n.read()
		if n.text != nil {
			// Parts of the text are slices of it, so they end where it ends. They are visited in their order.
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
func (s *shower) hide(line int, shown string) {
	if s.hidden[line] != "" || strings.Contains(shown, "\n") {
		shown = placeholder
	}
	s.hidden[line] = shown
}

// beforeValue matches what is before a value in its line.
var beforeValue = regexp.MustCompile(`^\s*(?:- +)*(?:[A-Za-z_][\w./-]*(?:: +| += +))?`)

// all returns the lines. The lines of a hidden value after its first, up to the next value, are hidden too.
func (s *shower) all() []string {
	out := make([]string, len(s.lines))
	inHidden := false
	for i, line := range s.lines {
		switch {
		case s.hidden[i] != "":
			inHidden = true
			out[i] = beforeValue.FindString(line) + s.hidden[i]
		case inHidden && !s.starts[i] && strings.TrimSpace(line) != "":
			out[i] = line[:len(line)-len(strings.TrimLeft(line, " "))] + placeholder
		case strings.Contains(line, "#") && (s.isSecret || s.isSuspect(line)): // a comment is no value
			out[i] = placeholder
		default:
			inHidden = inHidden && !s.starts[i]
			out[i] = line
		}
		out[i] = strings.Map(visible, out[i])
	}
	return out
}

// isSuspect reports whether a text, of which nothing is known, looks like a credential or has one.
func (s *shower) isSuspect(text string) bool {
	return !diag.MayQuote("", text) || slices.ContainsFunc(s.values, func(v string) bool {
		return len(v) >= minContained && strings.Contains(text, v)
	})
}

// visible replaces what could steer a reader's program, or turn text around.
func visible(r rune) rune {
	if r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
