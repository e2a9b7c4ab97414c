package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is where an object was read from. It keeps nothing but the text, so that an
// object costs little; positions are found by reading the text again.
type document struct {
	source, file string
	text         string
	line, column int    // of the text's first byte in the file, from 1
	prefix       string // path of the object in the document: empty, or items[3] in a List
}

// at turns a position in the text into one in the file. A column of 0 is unknown.
func (d document) at(line, column int) (int, int) {
	if line == 1 && column > 0 {
		column += d.column - 1
	}
	return d.line + line - 1, column
}

// Position returns line and column (from 1) in the file of the field at path, or where it is
// absent of its nearest present parent. The position of a field is that of its key, and of
// a list's item that of the item.
func (o *Object) Position(path string) (line, column int) {
	key, value, _ := o.doc.find(path)
	return o.doc.at(node(key, value))
}

// ValuePosition is like [Object.Position] for a place within the text that the field at path
// holds: line and column (from 1) in that text. It is exact for block scalars (with a bar)
// and for single lines; for any other text it is where the value begins.
func (o *Object) ValuePosition(path string, line, column int) (int, int) {
	key, value, found := o.doc.find(path)
	switch {
	case !found || value == nil || value.Kind != yaml.ScalarNode:
		return o.doc.at(node(key, value))
	case value.Style&yaml.LiteralStyle != 0:
		return o.doc.at(value.Line+line, o.doc.indentation(value.Line+1)+column)
	case line == 1 && value.Style&yaml.FoldedStyle == 0:
		offset := column - 1
		if value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			offset++
		}
		return o.doc.at(value.Line, value.Column+offset)
	}
	return o.doc.at(value.Line, value.Column)
}

// node is the position of a key, or of a value that has none.
func node(key, value *yaml.Node) (line, column int) {
	switch {
	case key != nil:
		return key.Line, key.Column
	case value != nil:
		return value.Line, value.Column
	}
	return 1, 1
}

// find returns the nodes of the field at path: its key, if it has one, and its value. If it
// is absent, found is false and the nodes are those of its nearest present parent.
func (d document) find(path string) (key, value *yaml.Node, found bool) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(d.text), &root); err != nil || len(root.Content) == 0 {
		return nil, nil, false
	}
	value = root.Content[0]
	for _, p := range []string{d.prefix, path} {
		for p != "" {
			nextKey, next, rest, ok := step(value, p)
			if !ok {
				return key, value, false
			}
			key, value, p = nextKey, next, rest
		}
	}
	return key, value, true
}

// indentation returns how many spaces begin the text's line.
func (d document) indentation(line int) int {
	rest := d.text
	for ; line > 1; line-- {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return 0
		}
		rest = rest[i+1:]
	}
	return len(rest) - len(strings.TrimLeft(rest, " "))
}

// position is the line and column (from 1, in bytes) of an offset.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
