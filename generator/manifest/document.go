package manifest

import (
	"regexp"
	"strings"
	"sync"
	"weak"

	"go.yaml.in/yaml/v3"
)

// document is one document of a file, shared by the objects that were read from it.
type document struct {
	source, file string
	*content
	origin Origin // nil if it was not built
}

// content is the text of a document, shared by all files with the same content. To save memory it keeps only the
// text: positions are found by parsing it again.
type content struct {
	text         string
	line, column int // position of the text's first character in the file, from 1

	// The parsed text, until the garbage collector takes it: findings come in groups, and a List of thousands
	// of objects has one text.
	mutex sync.Mutex
	tree  weak.Pointer[yaml.Node]
}

// place is the position of an object.
type place struct {
	*document
	prefix string // path of the object in the document: empty, or items[3] in a List
}

// inFile converts a position in the text to one in the file. A column of 0 means unknown.
func (d *content) inFile(line, column int) (int, int) {
	if line == 1 && column > 0 {
		column += d.column - 1
	}
	return d.line + line - 1, column
}

// surrogate is a JSON escape that yaml/v3 does not accept.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

// root returns the parsed text. It has no content if parsing failed.
func (d *content) root() *yaml.Node {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if root := d.tree.Value(); root != nil {
		return root
	}
	root := tree(d.text)
	d.tree = weak.Make(root)
	return root
}

// tree parses a text. The result has no content if parsing failed.
func tree(text string) *yaml.Node {
	root := &yaml.Node{}
	if yaml.Unmarshal([]byte(text), root) != nil {
		*root = yaml.Node{}
		// The replacement has the same length, so that positions stay the same.
		_ = yaml.Unmarshal([]byte(surrogate.ReplaceAllString(text, `\u0020`)), root)
	}
	return root
}

// find returns the nodes of the field at path: its value, and its key if it has one. If the field is absent,
// found is false and the nodes are those of its nearest existing parent.
func (p place) find(path string) (key, value *yaml.Node, found bool) {
	root := p.root()
	if len(root.Content) == 0 {
		return nil, nil, false
	}
	key, value, rest := Walk(root.Content[0], p.prefix)
	if rest == "" && path != "" {
		key, value, rest = Walk(value, path)
	}
	return key, value, rest == ""
}

// has reports whether the object is written with a field at path.
func (p place) has(path string) bool {
	_, _, found := p.find(path)
	return found
}

// position returns the position of a path in the file.
func (p place) position(path string) (line, column int) {
	_, line, column = p.locate(path)
	return line, column
}

// locate returns the file and the position of a path.
func (p place) locate(path string) (file string, line, column int) {
	if p.origin != nil {
		return p.origin.Find(p.text, strings.TrimSuffix(strings.TrimPrefix(p.prefix+"."+path, "."), "."))
	}
	line, column = 1, 1
	if _, value, found := p.find(""); found {
		line, column = PositionIn(p.text, value, path)
	}
	line, column = p.inFile(line, column)
	return p.file, line, column
}

// offsetPosition returns the line and column (from 1, in bytes) of an offset.
func offsetPosition(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
