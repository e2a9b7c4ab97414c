package alloyconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// Block is a block with its attributes and inner blocks, in their order.
type Block struct {
	// Name is the name with its dots, and Label the quoted text after it, or "".
	Name, Label string
	Attrs       []Attr
	Blocks      []*Block
	// Text is the source text of the block.
	Text string
}

// ID is the name with the label.
func (b *Block) ID() string {
	if b.Label == "" {
		return b.Name
	}
	return b.Name + "." + b.Label
}

// Attr is an attribute. Value is the source text of its expression.
type Attr struct{ Name, Value string }

// Blocks returns the blocks of a text. It returns an error if the text is not valid in Alloy's syntax, or nests blocks
// or brackets deeper than any text that agentry prints.
func Blocks(text string) ([]*Block, error) {
	s := scanner{text: text, line: 1}
	top, err := s.body(0)
	if err == nil && len(top.Attrs) > 0 {
		err = fmt.Errorf("attribute %s is outside of a block", top.Attrs[0].Name)
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", s.line, err)
	}
	return top.Blocks, nil
}

// maxDepth limits the nesting of blocks, and of brackets.
const maxDepth = 100

// scanner reads a text from beginning to end.
type scanner struct {
	text string
	at   int
	line int
}

// body reads the contents of a block and the closing bracket. The whole text is at depth 0.
func (s *scanner) body(depth int) (*Block, error) {
	out := &Block{}
	if depth > maxDepth {
		return nil, fmt.Errorf("blocks are nested more than %d deep", maxDepth)
	}
	for {
		s.space()
		switch {
		case s.at == len(s.text) && depth == 0:
			return out, nil
		case s.at == len(s.text):
			return nil, fmt.Errorf("a block is not closed")
		case s.text[s.at] == '}' && depth > 0:
			s.at++
			return out, nil
		}
		start := s.at
		name := s.word()
		if name == "" {
			return nil, fmt.Errorf("%q begins neither an attribute nor a block", s.text[s.at])
		}
		s.blanks()
		if s.take('=') {
			value, err := s.expression()
			if err != nil {
				return nil, err
			}
			out.Attrs = append(out.Attrs, Attr{name, value})
			continue
		}
		inner, err := s.block(name, depth)
		if err != nil {
			return nil, err
		}
		inner.Text = s.text[start:s.at]
		out.Blocks = append(out.Blocks, inner)
	}
}

// block reads the rest of a block after its name.
func (s *scanner) block(name string, depth int) (*Block, error) {
	label := ""
	if s.at < len(s.text) && s.text[s.at] == '"' {
		literal, err := strconv.QuotedPrefix(s.text[s.at:])
		if err != nil {
			return nil, fmt.Errorf("the label of %s is not closed", name)
		}
		if label, err = strconv.Unquote(literal); err != nil {
			return nil, fmt.Errorf("the label of %s: %w", name, err)
		}
		s.at += len(literal)
		s.blanks()
	}
	if !s.take('{') {
		return nil, fmt.Errorf("%s is not followed by = or {", name)
	}
	b, err := s.body(depth + 1)
	if err != nil {
		return nil, err
	}
	b.Name, b.Label = name, label
	return b, nil
}

// expression reads an expression: up to the end of a line at which no bracket is open.
func (s *scanner) expression() (string, error) {
	s.blanks()
	start, open := s.at, 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"', '`':
			literal, err := strconv.QuotedPrefix(s.text[s.at:])
			if err != nil {
				return "", fmt.Errorf("a string is not closed")
			}
			s.line += strings.Count(literal, "\n")
			s.at += len(literal)
			continue
		case '(', '[', '{':
			if open++; open > maxDepth {
				return "", fmt.Errorf("brackets are nested more than %d deep", maxDepth)
			}
		case ')', ']', '}':
			if open--; open < 0 { // it closes a block on one line
				return strings.TrimSpace(s.text[start:s.at]), nil
			}
		case '\n':
			if open == 0 {
				return strings.TrimSpace(s.text[start:s.at]), nil
			}
			s.line++
		}
		s.at++
	}
	return strings.TrimSpace(s.text[start:]), nil
}

// space skips spaces, line breaks and comments.
func (s *scanner) space() {
	for s.blanks(); s.at < len(s.text); s.blanks() {
		switch {
		case s.text[s.at] == '\n':
			s.line++
			s.at++
		case strings.HasPrefix(s.text[s.at:], "//"):
			end := strings.IndexByte(s.text[s.at:], '\n')
			if end < 0 {
				end = len(s.text) - s.at
			}
			s.at += end
		default:
			return
		}
	}
}

// blanks skips spaces in a line.
func (s *scanner) blanks() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r", s.text[s.at]) >= 0 {
		s.at++
	}
}

// take skips a character if it comes next.
func (s *scanner) take(c byte) bool {
	is := s.at < len(s.text) && s.text[s.at] == c
	if is {
		s.at++
	}
	return is
}

// word reads a name with dots.
func (s *scanner) word() string {
	start := s.at
	for s.at < len(s.text) && isName(s.text[s.at]) {
		s.at++
	}
	return s.text[start:s.at]
}

func isName(c byte) bool {
	return c == '_' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
