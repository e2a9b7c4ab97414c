package pipelinefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
)

// maxNodes limits the nodes that are read, because aliases can be nested.
const maxNodes = 100_000

// decoder decodes YAML nodes into structs by their JSON names, strictly, and remembers the position of each
// field. The libraries either lose positions, or allow unknown fields and duplicate keys.
type decoder struct {
	file  string
	nodes positions
	found diag.List
	seen  int
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, nodes: positions{}}
}

// decode decodes a node into the variable that target points to.
func (d *decoder) decode(node *yaml.Node, path string, target any) {
	d.value(nil, node, path, reflect.ValueOf(target).Elem())
}

func (d *decoder) fail(at *yaml.Node, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if path != "" {
		message = path + ": " + message
	}
	d.found = append(d.found, invalid(d.file, at, message))
}

// value decodes the value of a key, which is nil for a list item and for the document.
func (d *decoder) value(key, node *yaml.Node, path string, target reflect.Value) {
	if d.seen++; d.seen > maxNodes {
		if d.seen == maxNodes+1 {
			d.fail(node, path, "the document has more than %d values", maxNodes)
		}
		return
	}
	d.nodes[path] = position{key, node}
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.ShortTag() == "!!null" {
		return
	}
	if u, ok := target.Addr().Interface().(json.Unmarshaler); ok {
		d.unmarshal(node, path, u)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		d.value(key, node, path, target.Elem())
	case reflect.Struct:
		d.object(node, path, target)
	case reflect.Map:
		d.stringMap(node, path, target)
	case reflect.Slice:
		d.list(node, path, target)
	case reflect.Interface:
		d.any(node, path, target)
	case reflect.Bool:
		if d.is(node, path, "!!bool", "true or false") {
			target.SetBool(strings.EqualFold(node.Value, "true"))
		}
	case reflect.Int, reflect.Int64:
		d.number(node, path, target)
	default:
		if d.is(node, path, "!!str", "a string; put it in quotes") {
			target.SetString(node.Value)
		}
	}
}

func (d *decoder) number(node *yaml.Node, path string, target reflect.Value) {
	const want = "a whole number"
	if !d.is(node, path, "!!int", want) {
		return
	}
	var n int64
	if err := node.Decode(&n); err != nil || target.OverflowInt(n) {
		d.fail(node, path, "must be %s", want)
		return
	}
	target.SetInt(n)
}

// is checks the type of a node.
func (d *decoder) is(node *yaml.Node, path, tag, want string) bool {
	if node.ShortTag() != tag {
		d.fail(node, path, "must be %s", want)
		return false
	}
	return true
}

func (d *decoder) object(node *yaml.Node, path string, target reflect.Value) {
	fields := fieldsOf(target.Type())
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "must be a mapping")
		d.found[len(d.found)-1].Hint = diag.Fields(fields.names)
		return
	}
	d.pairs(node, path, func(key, value *yaml.Node) {
		at := join(path, key.Value)
		index, known := fields.index[key.Value]
		switch {
		case known:
			d.value(key, value, at, target.FieldByIndex(index))
		default:
			d.fail(key, at, "unknown field")
			d.found[len(d.found)-1].Hint = fields.hint(key.Value)
		}
	})
}

func (d *decoder) stringMap(node *yaml.Node, path string, target reflect.Value) {
	target.Set(reflect.MakeMap(target.Type()))
	d.pairs(node, path, func(key, value *yaml.Node) {
		text := reflect.New(target.Type().Elem()).Elem()
		d.value(key, value, path+"["+key.Value+"]", text)
		target.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
}

// pairs calls visit once for each key of a mapping.
func (d *decoder) pairs(node *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	if !d.is(node, path, "!!map", "a mapping") {
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			d.fail(key, path, "merge keys are not supported; use an alias, or repeat the fields")
		case seen[key.Value]:
			d.fail(key, join(path, key.Value), "is set twice")
		default:
			seen[key.Value] = true
			visit(key, value)
		}
	}
}

func (d *decoder) list(node *yaml.Node, path string, target reflect.Value) {
	if !d.is(node, path, "!!seq", "a list") {
		d.found[len(d.found)-1].Hint = diag.WriteList
		return
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		d.value(nil, item, path+"["+strconv.Itoa(i)+"]", list.Index(i))
	}
	target.Set(list)
}

// any decodes a value of any JSON type.
func (d *decoder) any(node *yaml.Node, path string, target reflect.Value) {
	var value any
	err := node.Decode(&value)
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err == nil {
		err = json.Unmarshal(text, target.Addr().Interface())
	}
	if err != nil {
		d.fail(node, path, "is not a value that JSON has")
	}
}

// unmarshal is for types with their own JSON decoding from a string, such as durations.
func (d *decoder) unmarshal(node *yaml.Node, path string, target json.Unmarshaler) {
	text, err := json.Marshal(node.Value)
	if err == nil {
		err = target.UnmarshalJSON(text)
	}
	if err != nil || node.Kind != yaml.ScalarNode {
		d.fail(node, path, "%q is not a duration such as 30s or 5m", node.Value)
	}
}

// fields are the JSON names of a struct's fields, with those of embedded structs.
type fields struct {
	names []string
	index map[string][]int
}

func fieldsOf(t reflect.Type) fields {
	f := fields{index: map[string][]int{}}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" || name == "-" {
			continue // its fields are promoted, or it is not of the format
		}
		f.names = append(f.names, name)
		f.index[name] = field.Index
	}
	return f
}

// hint returns the hint for a field that is not there.
func (f fields) hint(name string) string {
	file, env := name+"File", name+"Env"
	if f.index[file] != nil && f.index[env] != nil {
		return fmt.Sprintf("credentials are not in the pipeline file: write %s or %s, which say where they are", file,
			env)
	}
	return cmp.Or(diag.DidYouMean(name, f.names), diag.Fields(f.names))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// positions maps the path of a field to its node.
type positions map[string]position

// position is where a field is. A list item and the document have no key.
type position struct{ key, value *yaml.Node }

// nearest returns where a field is, or where to add it: the section that lacks it or, if the section is absent too, the
// end of the nearest one above.
func (p positions) nearest(path string) *yaml.Node {
	absent := 0
	for p[path].value == nil && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
		absent++
	}
	at := p[path]
	switch {
	case absent > 1:
		return end(at.value)
	case at.key != nil && (at.value.Kind == yaml.MappingNode && at.value.Style&yaml.FlowStyle == 0 ||
		at.value.ShortTag() == "!!null"):
		return at.key // the value of a block begins with its first field
	}
	return at.value
}

// end returns a node in the last line of a node. It has no column.
func end(node *yaml.Node) *yaml.Node {
	for node != nil && len(node.Content) > 0 {
		node = node.Content[len(node.Content)-1]
	}
	if node == nil {
		return nil
	}
	return &yaml.Node{Line: node.Line}
}
