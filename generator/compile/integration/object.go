package integration

import (
	"strconv"
	"strings"
)

// object is a mapping of a configuration as rules see it: absent fields have the agent's defaults.
type object struct {
	*checker
	node   *node
	values map[string]any
	path   string
}

// rule checks an object as a whole, after its fields have been checked one by one.
type rule func(o object)

func (o object) at(field string) string { return child(o.path, field) }

// has reports whether a field is set; null counts as absent.
func (o object) has(field string) bool { return o.values[field] != nil }

// given reports whether a field is set and not empty.
func (o object) given(field string) bool {
	switch v := o.values[field].(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		for _, item := range v {
			if item != nil {
				return true
			}
		}
		return false
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// value returns a field's value or its default.
func (o object) value(field string) any {
	if v := o.values[field]; v != nil {
		return v
	}
	if n := o.node.field(field); n != nil && n.Field.Default != nil {
		return n.Field.Default
	}
	return nil
}

// text returns the text of a field. known is false if it contains variables or is not a text.
func (o object) text(field string) (text string, known bool) { return textOf(o.value(field)) }

func textOf(v any) (text string, known bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		plain, known, ok := literal(v)
		return plain, known && ok
	case bool:
		return strconv.FormatBool(v), true
	}
	text, ok := number(v)
	return text, ok
}

// boolean reports whether a field is true. It returns false if the value is unknown.
func (o object) boolean(field string) bool {
	b, _ := o.value(field).(bool)
	return b
}

// integer returns a field's number, and false if it is unknown.
func (o object) integer(field string) (int64, bool) {
	text, ok := number(o.value(field))
	if !ok {
		return 0, o.value(field) == nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

// texts returns the texts of a list that contain no variables, with their paths.
func (o object) texts(field string) (texts []string, paths []string) {
	list, _ := o.values[field].([]any)
	for i, v := range list {
		if text, known := textOf(v); known && v != nil {
			texts, paths = append(texts, text), append(paths, o.at(field)+"["+strconv.Itoa(i)+"]")
		}
	}
	return texts, paths
}

// objects returns the mappings of a list.
func (o object) objects(field string) []object {
	var out []object
	list, _ := o.values[field].([]any)
	for i, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, object{o.checker, o.item(field), m, o.at(field) + "[" + strconv.Itoa(i) + "]"})
		}
	}
	return out
}

// object returns the mapping in a field. It is empty if the field is absent or something else.
func (o object) object(field string) object {
	m, _ := o.values[field].(map[string]any)
	return object{o.checker, o.item(field), m, o.at(field)}
}

// item returns the node of the objects in a field.
func (o object) item(field string) *node {
	n := o.node.field(field)
	for n != nil && n.item != nil {
		n = n.item
	}
	if n == nil || n.kind != objectKind {
		return &node{Field: &Field{}}
	}
	return n
}

// exclusive refuses two fields that cannot be set together.
func (o object) exclusive(a, b string) {
	if o.given(a) && o.given(b) {
		o.wrong(o.at(b), "remove one of them", "%s and %s exclude each other", a, b)
	}
}

// together refuses one of two fields without the other.
func (o object) together(a, b string) {
	if o.given(b) {
		a, b = b, a
	}
	if o.given(a) && !o.given(b) {
		o.wrong(o.at(a), "", "%s needs %s as well", a, b)
	}
}

// needs refuses a switch that is on without the fields that it needs.
func (o object) needs(on string, fields ...string) {
	if !o.boolean(on) {
		return
	}
	var missing []string
	for _, f := range fields {
		if !o.given(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		o.wrong(o.at(on), "", "%s needs %s as well", on, strings.Join(missing, " and "))
	}
}
