package yamlvalue

import (
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// opening is an opening bracket or quote, with its place in the text.
type opening struct {
	line, column int // from 1
	char         byte
}

// blockText matches the header of a block scalar.
var blockText = lazyregexp.New(`^[|>][-+0-9]*[ \t]*(#.*)?$`)

// scanner is the state of [unclosedError].
type scanner struct {
	open  []opening // the innermost last; nothing opens inside a quote
	extra opening   // a closing bracket without an opening one, if any
	below int       // the indentation of the key of a block scalar, or -1
}

func (s *scanner) quote() byte {
	if len(s.open) > 0 {
		if c := s.open[len(s.open)-1].char; c == '"' || c == '\'' {
			return c
		}
	}
	return 0
}

// line reads a line. It returns true at a bracket that does not match the last open one.
func (s *scanner) line(number int, line string) (mismatch bool) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if s.below >= 0 {
		if indent > s.below || indent == len(line) {
			return false
		}
		s.below = -1
	}
	value, closed := true, false // whether a value can begin here, and all brackets are closed
	for i := 0; i < len(line); i++ {
		c := line[i]
		push := func() { s.open = append(s.open, opening{number, utf8.RuneCountInString(line[:i]) + 1, c}) }
		ends := i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t'
		switch quote := s.quote(); {
		case quote != 0:
			switch {
			case c == '\\' && quote == '"', c == '\'' && quote == c && strings.HasPrefix(line[i+1:], "'"):
				i++
			case c == quote:
				s.open = s.open[:len(s.open)-1]
			}
		case c == ' ' || c == '\t':
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return false
		case value && (c == '"' || c == '\'' || c == '[' || c == '{'):
			push()
			value = c == '[' || c == '{'
		case len(s.open) > 0 && (c == '[' || c == '{'):
			push()
			value = true
		case len(s.open) > 0 && (c == ']' || c == '}'):
			last := s.open[len(s.open)-1].char
			if last == '[' != (c == ']') {
				return true
			}
			s.open = s.open[:len(s.open)-1]
			value, closed = false, len(s.open) == 0
		case closed && (c == ']' || c == '}'):
			if s.extra.line == 0 {
				s.extra = opening{number, utf8.RuneCountInString(line[:i]) + 1, c}
			}
		case len(s.open) > 0 && (c == ',' || c == ':'), c == ':' && ends, c == '-' && ends && value:
			value = true
		case value && (c == '&' || c == '!'): // an anchor or a tag precedes a value
			if end := strings.IndexAny(line[i:], " \t"); end > 0 {
				i += end
			} else {
				return false
			}
		case value && len(s.open) == 0 && blockText.MatchString(line[i:]):
			if s.below = indent; strings.Contains(line[:i], ":") {
				s.below = len(line) - len(strings.TrimLeft(line, " -"))
			}
			return false
		default:
			value, closed = false, false
		}
	}
	return false
}

// unclosedError returns the error about a bracket or quote, up to a line, that is not closed, or about a bracket that
// closes nothing. It returns nil if there is none. It reads a document that is not valid, so it only has to be right
// about common mistakes: it knows quotes, comments, block scalars, and where values begin.
func unclosedError(text string, upTo int) *Error {
	s := scanner{below: -1}
	number := 0
	for line := range strings.Lines(text) {
		if number++; s.line(number, strings.TrimRight(line, "\r\n")) {
			break
		}
	}
	for len(s.open) > 0 && s.open[len(s.open)-1].line > upTo {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 {
		if s.extra.line == 0 || s.extra.line > upTo {
			return nil
		}
		return &Error{Line: s.extra.line, Column: s.extra.column, Message: "this bracket closes nothing",
			Hint: "remove it, or add the opening bracket"}
	}
	open := s.open[len(s.open)-1]
	out := &Error{Line: open.line, Column: open.column}
	switch open.char {
	case '[':
		out.Message, out.Hint = "the list that begins here is not closed", "add ] after its last item"
	case '{':
		out.Message, out.Hint = "the mapping that begins here is not closed", "add } after its last value"
	default:
		out.Message, out.Hint = "the text that begins here is not closed", "add "+string(open.char)+" at its end"
	}
	return out
}
