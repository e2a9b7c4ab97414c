package merge

import "fmt"

// maxDepth is how deep values may nest. Agents nest three deep.
const maxDepth = 100

// scanner reads JSON strictly by RFC 8259 without copying. It exists for rounds in which all answers changed:
// encoding/json takes four times as long. A test compares the two.
type scanner struct {
	text []byte
	at   int
}

// peek returns the next byte, or 0 at the end: JSON never contains 0.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// space skips white space and returns the next byte.
func (s *scanner) space() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take skips the next byte if it is c.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// more skips to the next element of a list or member of an object, and returns whether there is one. At the end it
// skips the closing byte.
func (s *scanner) more(first bool, closing byte) (more, ok bool) {
	switch c := s.space(); {
	case c == closing:
		s.at++
		return false, true
	case first:
		return true, true
	case c != ',':
		return false, false
	}
	s.at++
	return true, s.space() != closing // A trailing comma is an error.
}

// key skips the key of a member and the colon after it, and returns the key with its quotes.
func (s *scanner) key() (key []byte, ok bool) {
	start := s.at
	if !s.str() {
		return nil, false
	}
	key = s.text[start:s.at]
	if s.space(); !s.take(':') {
		return nil, false
	}
	s.space()
	return key, true
}

// raw skips a value and returns it.
func (s *scanner) raw() (value []byte, ok bool) {
	start := s.at
	ok = s.value(0)
	return s.text[start:s.at:s.at], ok
}

// value skips a value, without white space before it. It stops at the first wrong byte.
func (s *scanner) value(depth int) bool {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{', '[':
		s.at++
		return depth < maxDepth && s.elements(c, depth+1)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

// elements skips the rest of a list or object after its opening byte.
func (s *scanner) elements(opening byte, depth int) bool {
	closing := opening + 2 // In ASCII, ']' is '['+2 and '}' is '{'+2.
	for first := true; ; first = false {
		more, ok := s.more(first, closing)
		if !more || !ok {
			return ok
		}
		if opening == '{' {
			if _, ok := s.key(); !ok {
				return false
			}
		}
		if !s.value(depth) {
			return false
		}
	}
}

// str skips a string.
func (s *scanner) str() bool {
	if !s.take('"') {
		return false
	}
	for {
		s.plain()
		switch s.peek() {
		case '"':
			s.at++
			return true
		case '\\':
			s.at++
			if !s.escape() {
				return false
			}
		default:
			return false
		}
	}
}

// plain skips the bytes of a string up to its end or the next escape. It is the hottest loop.
func (s *scanner) plain() {
	for i, c := range s.text[s.at:] {
		if c == '"' || c == '\\' || c < ' ' {
			s.at += i
			return
		}
	}
	s.at = len(s.text)
}

// escape skips the rest of an escape after its backslash.
func (s *scanner) escape() bool {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return true
	case 'u':
		s.at++
		for range 4 {
			if c := s.peek(); !digit(c) && !('a' <= c && c <= 'f') && !('A' <= c && c <= 'F') {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

// number skips a number.
func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

// digits skips one or more digits.
func (s *scanner) digits() bool {
	start := s.at
	for digit(s.peek()) {
		s.at++
	}
	return s.at > start
}

func (s *scanner) word(word string) bool {
	for i := range len(word) {
		if !s.take(word[i]) {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// syntaxError describes the error where the scanner stopped.
func (s *scanner) syntaxError() error {
	if s.at >= len(s.text) {
		return fmt.Errorf("%w: unexpected end", ErrMalformed)
	}
	return fmt.Errorf("%w: unexpected %q at byte %d", ErrMalformed, s.text[s.at], s.at)
}
