package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Value is a document of a text that a field holds, such as a patch: what Kubernetes decodes it to.
type Value struct {
	Content any
	at      place
}

// Values reads the documents of a text that a field holds. What is wrong has its line and column in the text.
func Values(text string) (values []Value, found diag.List) {
	p := newParser(File{Data: []byte(text)}, Options{})
	p.leads, p.isField = true, true
	for d := range p.documents() {
		value, notes, doc := p.decode(d)
		if doc != nil && value != nil {
			p.note(doc, notes)
			values = append(values, Value{value, place{document: doc}})
		}
	}
	return values, p.result.Diags
}

// Find returns the line and column in the text of the field at path or, if it is absent, of its nearest existing
// parent. Paths are written as for [Object.Place].
func (v Value) Find(path string) (line, column int) { return v.at.position(path) }

// TextStart returns where the first character of a text that the field at path holds is in the file, if all lines of
// the text are there as they are, one below the other and indented alike. Otherwise it returns 0.
func (o *Object) TextStart(path, text string) (line, column int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	last, width := len(lines), utf8.RuneCountInString(lines[len(lines)-1])
	line, column = o.ValuePosition(path, 1, 1)
	if endLine, endColumn := o.ValuePosition(path, last, width+1); endLine != line+last-1 || endColumn != column+width {
		return 0, 0
	}
	return line, column
}

// PositionIn returns the position in a text of a path below a node: of the key, or of the value if it has no
// key. It follows paths into a text that a scalar holds. Paths are written as for [Object.Diag].
func PositionIn(text string, node *yaml.Node, path string) (line, column int) {
	return positionIn(&parsed{}, text, node, path)
}

// positionIn is PositionIn for several paths into one text that a scalar holds.
func positionIn(held *parsed, text string, node *yaml.Node, path string) (line, column int) {
	key, value, rest := Walk(node, path)
	if inner, ok := strings.CutPrefix(rest, ">"); ok && resolved(value).Kind == yaml.ScalarNode {
		value = resolved(value)
		line, column = positionInText(held, value.Value, inner)
		return around(text, value, line, column)
	}
	if key != nil {
		return key.Line, key.Column
	}
	return value.Line, value.Column
}

var linePattern = lazyregexp.New(`^([0-9]{1,9}):([0-9]{1,9})$`)

// positionInText returns the position of a path in a text. If the path is a line and column, the text does not
// have to be YAML.
func positionInText(held *parsed, text, path string) (line, column int) {
	if match := linePattern.FindStringSubmatch(path); match != nil {
		line, _ = strconv.Atoi(match[1])
		column, _ = strconv.Atoi(match[2])
		return line, column
	}
	root := held.root(text)
	if len(root.Content) == 0 {
		return 1, 1
	}
	return PositionIn(text, root.Content[0], path)
}

// around converts a position in the text that a scalar holds to a position in the text around it. If the scalar
// has escapes or folded lines, it returns the position of the scalar.
func around(text string, scalar *yaml.Node, line, column int) (int, int) {
	held, ok := lineOf(scalar.Value, line)
	if !ok || column < 1 || column > utf8.RuneCountInString(held)+1 {
		return scalar.Line, scalar.Column
	}
	if scalar.Style&yaml.LiteralStyle != 0 {
		at := scalar.Line + line
		if written, ok := lineOf(text, at); ok && strings.HasSuffix(written, held) {
			return at, utf8.RuneCountInString(strings.TrimSuffix(written, held)) + column
		}
		return scalar.Line, scalar.Column
	}
	offset := scalar.Column - 1
	if scalar.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		offset++
	}
	written, _ := lineOf(text, scalar.Line)
	before := string([]rune(held)[:column-1])
	if runes := []rune(written); line == 1 && offset <= len(runes) &&
		strings.HasPrefix(string(runes[offset:]), before) {
		return scalar.Line, offset + column
	}
	return scalar.Line, scalar.Column
}

// lineOf returns a line of a text, without its line break.
func lineOf(text string, number int) (string, bool) {
	for line := range strings.Lines(text) {
		if number--; number == 0 {
			return strings.TrimRight(line, "\r\n"), true
		}
	}
	return "", number == 1
}
