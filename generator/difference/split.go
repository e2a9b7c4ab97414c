package difference

import (
	"bytes"
)

// split splits a mapping or list in block style into the texts of its parts. It knows only agentry's format, and
// returns false for any other YAML, which has to be decoded.
func (n *node) split() bool {
	text := n.text
	if n.entry {
		var ok bool
		if text, ok = n.unwrap(); !ok {
			return false
		}
	}
	parts, indent, ok := cut(text, n.indent)
	if !ok || len(parts) == 0 {
		return false
	}
	isList := isItem(parts[0])
	children := make([]*node, len(parts))
	for i, part := range parts {
		c := &node{text: part, indent: indent, entry: true, parent: n, name: n.name}
		if !isList {
			if c.name, ok = fieldName(part); !ok {
				return false
			}
		} else if !isItem(part) {
			return false
		}
		children[i] = c
	}
	if isList {
		n.shape, n.items = sequence, children
	} else {
		n.shape, n.fields = mapping, children
	}
	return true
}

// unwrap returns the text of the value of an entry, and gives the node the indentation of the text. The value must be a
// block of its own.
func (n *node) unwrap() ([]byte, bool) {
	if isItem(n.text) {
		rest := n.text[1:]
		value := bytes.TrimLeft(rest, " ")
		if len(value) == 0 || value[0] == '\n' {
			return nil, false
		}
		if _, ok := fieldName(value); !ok && !isItem(value) {
			return nil, false
		}
		n.indent += 1 + len(rest) - len(value)
		n.text, n.entry = value, false
		return value, true
	}
	line, rest, _ := bytes.Cut(n.text, []byte("\n"))
	if !bytes.HasSuffix(line, []byte(":")) {
		return nil, false
	}
	value := bytes.TrimLeft(rest, " ")
	if len(value) == 0 || value[0] == '\n' {
		return nil, false
	}
	n.indent, n.text, n.entry = len(rest)-len(value), value, false
	return value, true
}

// cut cuts a text into parts, each of which begins with a line of the given indentation.
func cut(text []byte, indent int) (parts [][]byte, at int, ok bool) {
	isList := isItem(text)
	start := 0
	for pos := 0; pos < len(text); {
		end := bytes.IndexByte(text[pos:], '\n')
		if end < 0 {
			end = len(text) - pos - 1
		}
		end += pos + 1
		line := text[pos:end]
		if pos > 0 {
			spaces := len(line) - len(bytes.TrimLeft(line, " "))
			switch {
			case spaces == len(line)-1: // an empty line belongs to the part before it
			case spaces < indent:
				return nil, 0, false
			case spaces == indent && (isList || !isItem(line[spaces:])):
				parts = append(parts, text[start:pos])
				start = pos + spaces
			}
		}
		pos = end
	}
	return append(parts, text[start:]), indent, true
}

// isItem reports whether a text begins with an item of a list.
func isItem(text []byte) bool {
	return len(text) > 1 && text[0] == '-' && (text[1] == ' ' || text[1] == '\n')
}

// fieldName returns the field name at the beginning of a text, if it has no quotes.
func fieldName(text []byte) (string, bool) {
	for i, c := range text {
		switch {
		case c == ':' && i > 0 && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n'):
			return string(text[:i]), true
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', i > 0 &&
			(c == '-' || c >= '0' && c <= '9' || c == '.' || c == '/'):
		default:
			return "", false
		}
	}
	return "", false
}
