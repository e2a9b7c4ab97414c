package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// document is one document of a file, shared by the objects that were read from it.
type document struct {
	source, file string
	*content
	origin Origin       // nil if it was not built
	secret secretValues // that were put into the text
	// withVariables is the text before Flux's variables in it were replaced; empty if there were none.
	withVariables string
}

// content is the text of a document, shared by all files with the same content. To save memory it keeps only the
// text: positions are found by parsing it again.
type content struct {
	text         string
	line, column int // position of the text's first character in the file, from 1

	// A List of thousands of objects has one text. Inner is the text in one of its scalars that was parsed last.
	outer, inner parsed
}

// parsed is the text that was parsed last, until the garbage collector takes it: findings come in groups.
type parsed struct {
	mutex sync.Mutex
	last  weak.Pointer[parsedText]
}

type parsedText struct {
	text string
	root *yaml.Node
}

// root parses a text, unless it was the last one. The result has no content if parsing failed.
func (p *parsed) root(text string) *yaml.Node {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	last := p.last.Value()
	if last == nil || last.text != text {
		last = &parsedText{text, tree(text)}
		p.last = weak.Make(last)
	}
	return last.root
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
var surrogate = lazyregexp.New(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

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

// find returns the nodes of the field at path: its value, and its key if it has one. If the field is absent, found is
// false and the nodes belong to its nearest existing parent.
func (p place) find(path string) (key, value *yaml.Node, found bool) {
	root := p.outer.root(p.text)
	if len(root.Content) == 0 {
		return nil, nil, false
	}
	key, value, rest := Walk(root.Content[0], p.prefix)
	if rest == "" && path != "" {
		key, value, rest = Walk(value, path)
	}
	return key, value, rest == ""
}

// before returns the object before Flux's variables in it were replaced.
func (p place) before() *yaml.Node {
	root := tree(p.withVariables)
	if len(root.Content) == 0 {
		return root
	}
	_, value, _ := Walk(root.Content[0], p.prefix)
	return value
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
		line, column = positionIn(&p.inner, p.text, value, path)
	}
	line, column = p.inFile(line, column)
	return p.file, line, column
}

// offsetPosition returns the line and column (from 1, in bytes) of an offset.
func offsetPosition(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}

// secretValues are values of Secrets that were put into a document, with what put them there.
type secretValues map[string]string

// SecretVariables returns the variables, as ${NAME}, and the fields that put values of Secrets into the object's
// document.
func (o *Object) SecretVariables() []string {
	if len(o.at.secret) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(o.at.secret)))
}

// conceal returns a diagnostic that quotes no part of a secret value: where it would, it says less.
func (s secretValues) conceal(d diag.Diagnostic) diag.Diagnostic {
	quoted := func(text string) (by string) { // what put the value there that a text quotes
		for value, name := range s {
			if holdsPart(text, value) && (by == "" || name < by) {
				by = name
			}
		}
		return by
	}
	const hidden = "is wrong with the value that %s puts there, which is a Secret's and not shown"
	if by := quoted(d.Path + ": " + d.Message); by != "" {
		d.Message = fmt.Sprintf(hidden, by)
	}
	if quoted(d.Path) != "" {
		d.Path = ""
	}
	if by := quoted(d.Hint); by != "" {
		d.Hint = fmt.Sprintf(hidden, by)
	}
	return d
}

// holdsPart reports whether a message quotes a value, or a part that says something about it.
func holdsPart(message, value string) bool {
	const part = 5
	if len(value) <= part {
		return strings.Contains(message, value)
	}
	for i := 0; i+part <= len(value); i++ {
		if strings.Contains(message, value[i:i+part]) {
			return true
		}
	}
	return false
}
