package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
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

// content is the text of a document or of an item of a List, shared by all files with the same content. To save memory
// it keeps only the text: the positions of fields are found by parsing it again.
type content struct {
	text         string
	line, column int // position of the text's first character in the file, from 1

	// Outer is the text, and inner the text in one of its scalars that was parsed last.
	outer, inner parsed
	items        atomic.Pointer[[]position] // where the items of a List begin; nil before the first one was asked for
}

// position is a line and a column of a text, from 1.
type position struct{ line, column int32 }

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

// text returns what was parsed last, or nil. While somebody has it, it is not parsed again.
func (p *parsed) text() *parsedText {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.last.Value()
}

// place is the position of an object.
type place struct {
	*document
	prefix string // path of the object in the document: empty, or items[3] in a List
	item   *item  // nil unless the object is in an item of a List, and the item could be cut out
}

// item is the text of an item of a List, and the path of an object in it.
type item struct {
	*content
	path string
}

// alone is the path of an item in its own text if that is a sequence.
const alone = "[0]"

// cut returns the place of an item of the document, which is a list.
func (d *document) cut(i int, of yamlvalue.Item) place {
	line, column := d.inFile(of.Line, of.Column)
	out := place{d, fmt.Sprintf("items[%d]", i), &item{content: &content{text: of.Text, line: line, column: column}}}
	if of.IsSequence {
		out.item.path = alone
	}
	return out
}

// below returns the place of an item of a list at the place.
func (p place) below(i int) place {
	path := fmt.Sprintf("items[%d]", i)
	p.prefix = join(p.prefix, path)
	if p.item != nil {
		p.item = &item{p.item.content, join(p.item.path, path)}
	}
	return p
}

// own returns the smallest known text that holds the object, and the path of the object in it.
func (p place) own() (of *content, path string) {
	if p.item != nil {
		return p.item.content, p.item.path
	}
	return p.content, p.prefix
}

// mayHold reports whether a part may be in the text of the object.
func (p place) mayHold(part string) bool {
	of, path := p.own()
	return path != "" && path != alone || strings.Contains(of.text, part)
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
	of, at := p.own()
	root := of.outer.root(of.text)
	if len(root.Content) == 0 {
		return nil, nil, false
	}
	key, value, rest := Walk(root.Content[0], at)
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
	of, _ := p.own()
	known := false
	if path == "" {
		line, column, known = p.begin()
	}
	if !known {
		line, column = 1, 1
		if _, value, found := p.find(""); found {
			line, column = positionIn(&of.inner, of.text, value, path)
		}
	}
	line, column = of.inFile(line, column)
	return p.file, line, column
}

// plainBeginning matches a text up to a mapping in it that begins with a plain key, a quoted one or a brace, below
// comments. The mapping may be the first item of a sequence.
var plainBeginning = lazyregexp.New(`^(?: *(?:#[ -~]*)?\r?\n)*( *)(- +)?["{A-Za-z]`)

// begin returns where the object begins in the text that holds it, if that takes no parser for it alone.
func (p place) begin() (line, column int, known bool) {
	of, path := p.own()
	if path != "" && path != alone {
		return of.itemBegin(path)
	}
	at := plainBeginning.FindStringSubmatchIndex(of.text)
	if at == nil || (path == alone) != (at[4] >= 0) {
		return 0, 0, false
	}
	line, column = offsetPosition(of.text, at[1]-1)
	return line, column, true
}

// itemBegin returns where an item of the List that the text is begins. All of them are found at once.
func (d *content) itemBegin(path string) (line, column int, known bool) {
	index, rest, isItem := cutIndex(strings.TrimPrefix(path, "items"))
	if !isItem || rest != "" {
		return 0, 0, false
	}
	all := d.items.Load()
	if all == nil {
		all = &[]position{}
		if root := d.outer.root(d.text); len(root.Content) > 0 {
			_, items, _ := Walk(root.Content[0], "items")
			for _, item := range resolved(items).Content {
				*all = append(*all, position{int32(item.Line), int32(item.Column)})
			}
		}
		d.items.Store(all)
	}
	if index >= len(*all) {
		return 0, 0, false
	}
	return int((*all)[index].line), int((*all)[index].column), true
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
	if !o.of.isBuilt {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(o.place().secret)))
}

// hiddenSecret is the message about a field with a value of a Secret.
const hiddenSecret = "is wrong with the value that %s puts there, which is a Secret's and not shown"

// Conceal returns a diagnostic about the document that quotes no part of a value of a Secret in it.
func (b Built) Conceal(d diag.Diagnostic) diag.Diagnostic { return secretValues(b.Secret).conceal(d) }

// conceal returns a diagnostic that quotes no part of a secret value: where it would, it says less.
func (s secretValues) conceal(d diag.Diagnostic) diag.Diagnostic {
	if len(s) == 0 {
		return d
	}
	if by := s.quotedIn(d.Path + ": " + d.Message); by != "" {
		d.Message = fmt.Sprintf(hiddenSecret, by)
	}
	for _, text := range []*string{&d.Path, &d.Hint, &d.Flags} {
		if s.quotedIn(*text) != "" {
			*text = ""
		}
	}
	if c := d.Cause; s.quotedIn(strings.Join([]string{c.Things, c.Problem, c.Hint, c.Flags, c.Of, c.Many, c.Reason},
		"\n")) != "" {
		d.Cause = diag.Cause{}
	}
	d.Names = slices.DeleteFunc(slices.Clone(d.Names), func(name string) bool { return s.quotedIn(name) != "" })
	d.Related = slices.DeleteFunc(slices.Clone(d.Related), func(o diag.Object) bool {
		return s.quotedIn(o.String()) != ""
	})
	return d
}

// quotedIn returns what put the value there that a text quotes, or "".
func (s secretValues) quotedIn(text string) (by string) {
	if text == "" {
		return ""
	}
	for value, name := range s {
		escaped := strings.Trim(strconv.Quote(value), `"`) // as %q writes it
		if (holdsPart(text, value) || holdsPart(text, escaped)) && (by == "" || name < by) {
			by = name
		}
	}
	return by
}

// quotation matches what a message quotes.
var quotation = lazyregexp.New(`"(?:[^"\\]|\\.)*"?|` + "`[^`]*`?" + `|\B'[^']*'?`)

// holdsPart reports whether a message quotes a value, or a part that says something about it. Outside of quotation
// marks, short parts are words that a message and a value have in common by chance.
func holdsPart(message, value string) bool {
	const whole, word, part = 6, 8, 5
	if value == "" {
		return false
	}
	if len(value) >= whole && strings.Contains(message, value) ||
		len(value) >= word && holdsBytes(message, value, word) {
		return true
	}
	return holdsBytes(strings.Join(quotation.FindAllString(message, -1), "\n"), value, part)
}

// holdsBytes reports whether a text holds so many successive bytes of a value, or a shorter value as a whole.
func holdsBytes(text, value string, size int) bool {
	for i := 0; i+min(size, len(value)) <= len(value); i++ {
		if strings.Contains(text, value[i:i+min(size, len(value))]) {
			return true
		}
	}
	return false
}
