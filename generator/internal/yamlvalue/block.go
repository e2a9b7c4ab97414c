package yamlvalue

import (
	"strings"
	"unicode/utf8"
)

// decode decodes YAML as people write it by hand for Kubernetes: block mappings and sequences indented by spaces,
// scalars and flow collections on one line, literal block scalars. It returns false for everything else and whenever
// it is not certain: anchors, tags, multi-line scalars, duplicate keys, tabs, all errors.
//
// Every rule here is narrower than the corresponding rule of go.yaml.in/yaml/v2's scanner. Run FuzzBlock for a long
// time after widening one.
//
// It also gives up at the first value above MaxValues.
func (b *block) decode() (any, bool) {
	if !isPlainText(b.text) {
		return nil, false
	}
	b.next()
	value, ok := b.node()
	if !ok || !b.end || b.values > MaxValues {
		return nil, false
	}
	return value, true
}

// block is a position in a document: a line with content, or the end.
type block struct {
	text string

	begin   int    // offset of the current line
	indent  int    // of the current line, in spaces
	content string // of the current line, from its first character to its line break
	after   int    // offset of the line below
	end     bool   // there is no current line

	depth, values int

	ofItems  bool  // the value at hand is that of the key items of the document
	items    []int // offsets of the lines where its items begin
	itemsEnd int   // offset of the line below them
}

// isPlainText reports whether a text has none of the characters that are special everywhere in YAML: control
// characters, tabs, and line breaks other than \n.
func isPlainText(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case ' ' <= c && c <= '~' || c == '\n':
		case c < utf8.RuneSelf:
			return false
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError || r < 0xA0 || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || r == '\uFFFE' ||
				r == '\uFFFF' {
				return false
			}
			i += size - 1
		}
	}
	return true
}

// next moves to the next line that is neither blank nor a comment.
func (b *block) next() {
	for b.after < len(b.text) {
		line, after := b.lineAt(b.after)
		b.begin, b.after = b.after, after
		content := strings.TrimLeft(line, " ")
		if content != "" && content[0] != '#' {
			b.indent, b.content = len(line)-len(content), content
			return
		}
	}
	b.begin, b.end, b.content, b.indent = len(b.text), true, "", -1
}

// lineAt returns the line that begins at an offset, without its line break, and the offset of the next line.
func (b *block) lineAt(offset int) (line string, after int) {
	if i := strings.IndexByte(b.text[offset:], '\n'); i >= 0 {
		return b.text[offset : offset+i], offset + i + 1
	}
	return b.text[offset:], len(b.text)
}

// node decodes the collection that begins at the current line.
func (b *block) node() (any, bool) {
	b.depth++
	defer func() { b.depth-- }()
	if b.end || b.depth > MaxDepth || b.values > MaxValues {
		return nil, false
	}
	if isItem(b.content) {
		return b.sequence(b.indent, false)
	}
	return b.mapping(b.indent)
}

// isItem reports whether a line is an item of a sequence.
func isItem(content string) bool {
	return content == "-" || strings.HasPrefix(content, "- ")
}

// mapping decodes the mapping whose keys have the given indentation, starting at the current line.
func (b *block) mapping(indent int) (any, bool) {
	b.values++
	mapping := make(map[string]any, 4)
	for !b.end && b.indent == indent && !isItem(b.content) {
		key, rest, ok := cutBlockKey(b.content)
		if !ok {
			return nil, false
		}
		if _, found := mapping[key]; found {
			return nil, false
		}
		b.ofItems = b.depth == 1 && key == "items"
		value, ok := b.value(indent, rest, true)
		if !ok {
			return nil, false
		}
		mapping[key] = value
	}
	// A deeper line would continue the last scalar. An item at this indentation is valid only if the caller is
	// a sequence.
	return mapping, b.end || b.indent <= indent
}

// sequence decodes the sequence whose dashes have the given indentation, starting at the current line. The value of a
// key may have the same indentation as the key; such a sequence ends at the next key.
func (b *block) sequence(indent int, indentless bool) (any, bool) {
	b.values++
	sequence := []any{}
	ofItems := b.ofItems
	b.ofItems = false
	for !b.end && b.indent == indent {
		if !isItem(b.content) {
			return sequence, indentless
		}
		if ofItems {
			b.items = append(b.items, b.begin)
		}
		value, ok := b.item(indent)
		if !ok {
			return nil, false
		}
		sequence = append(sequence, value)
		if ofItems {
			b.itemsEnd = b.begin
		}
	}
	return sequence, b.end || b.indent < indent
}

// item decodes the item of a sequence at the current line.
func (b *block) item(indent int) (any, bool) {
	rest := strings.TrimLeft(b.content[1:], " ")
	if _, _, ok := cutBlockKey(rest); ok {
		// A mapping can begin on the line of its dash. Its indentation is the column of its first key.
		b.indent += len(b.content) - len(rest)
		b.content = rest
		return b.node()
	}
	return b.value(indent, rest, false)
}

// value decodes the value after a key or a dash: on the same line, or on the following lines if they are indented
// deeper than the key or dash. It leaves the position at the line after the value.
func (b *block) value(indent int, rest string, ofKey bool) (any, bool) {
	rest = strings.TrimLeft(rest, " ")
	if b.values > MaxValues {
		return nil, false
	}
	if rest == "" || rest[0] == '#' {
		return b.below(indent, ofKey)
	}
	b.values++
	if rest[0] == '|' {
		return b.literal(indent, rest)
	}
	value, ok := scalarOrFlow(rest, &b.values)
	if !ok {
		return nil, false
	}
	b.next()
	return value, b.end || b.indent <= indent // a deeper line would continue the scalar
}

// below decodes the value of a key or dash that has nothing else on its line.
func (b *block) below(indent int, ofKey bool) (any, bool) {
	b.next()
	switch {
	case !b.end && b.indent > indent:
		return b.node()
	case !b.end && b.indent == indent && ofKey && isItem(b.content):
		b.depth++
		defer func() { b.depth-- }()
		if b.depth > MaxDepth {
			return nil, false
		}
		return b.sequence(indent, true)
	}
	b.values++
	return nil, true
}

// literal decodes a literal block scalar below a line with the indentation.
func (b *block) literal(indent int, header string) (any, bool) {
	header = strings.TrimRight(header, " ")
	if header != "|" && header != "|-" && header != "|+" {
		return nil, false
	}
	first, _ := b.lineAt(b.after)
	inner := len(first) - len(strings.TrimLeft(first, " "))
	if inner == len(first) || inner <= indent {
		return nil, false // it begins with a blank line, or is empty
	}
	var out strings.Builder
	blank := 0 // line breaks that count only if another line follows
	terminated := true
	for b.after < len(b.text) {
		line, after := b.lineAt(b.after)
		if len(line) <= inner && strings.TrimLeft(line, " ") == "" {
			blank++
		} else if len(line) < inner || strings.TrimLeft(line[:inner], " ") != "" {
			break
		} else {
			for ; blank > 0; blank-- {
				out.WriteByte('\n')
			}
			out.WriteString(line[inner:])
			terminated = b.text[after-1] == '\n'
			blank = 1
		}
		b.after = after
	}
	text := out.String()
	switch {
	case !terminated && header == "|+" || b.after == len(b.text) && header == "|+":
		return nil, false // line breaks at the very end of the document are left to the full parser
	case header == "|" && terminated:
		text += "\n"
	case header == "|+":
		text += strings.Repeat("\n", blank)
	}
	b.next()
	return text, b.end || b.indent <= indent
}
