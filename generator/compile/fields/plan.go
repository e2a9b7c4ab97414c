package fields

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// node lists the fields of a value to look at: only fields that the mode reports, and the fields that lead to them.
type node struct {
	fields []step
}

// step leads to one field of a struct.
type step struct {
	index []int // for reflect.Value.FieldByIndex: all embedded structs are values
	name  string
	rules []*Rule
	below *node
}

// plans are the plans of both modes by the type of the object, each made when it is first needed.
var plans sync.Map

type planKey struct {
	mode manifest.Compatibility
	of   reflect.Type
}

// planFor returns the plan for objects of the type of value, which has a field Spec. Nil: there is nothing to look at.
func planFor(mode manifest.Compatibility, value any) *node {
	t := reflect.TypeOf(value).Elem()
	key := planKey{mode, t}
	if known, ok := plans.Load(key); ok {
		return known.(*node)
	}
	var out *node
	if spec, ok := t.FieldByName("Spec"); ok {
		c := compiler{mode: mode, rules: byType(), known: map[reflect.Type]*node{}}
		out = c.node(spec.Type)
	}
	plans.Store(key, out)
	return out
}

func specOf(value any) reflect.Value { return reflect.ValueOf(value).Elem().FieldByName("Spec") }

// compiler makes a plan.
type compiler struct {
	mode  manifest.Compatibility
	rules map[reflect.Type]map[string][]*Rule
	known map[reflect.Type]*node
}

// node returns the plan for a type, or nil.
func (c *compiler) node(t reflect.Type) *node {
	t = element(t)
	if t.Kind() != reflect.Struct || !ours(t) {
		return nil
	}
	if known, ok := c.known[t]; ok {
		return known
	}
	n := &node{}
	for _, f := range jsonFields(t) {
		s := step{index: f.index, name: f.name}
		for _, r := range c.rulesOf(f) {
			if r.found(c.mode) {
				s.rules = append(s.rules, r)
			}
		}
		s.below = c.node(f.typ)
		if len(s.rules) > 0 || s.below != nil {
			n.fields = append(n.fields, s)
		}
	}
	if len(n.fields) == 0 {
		n = nil
	}
	c.known[t] = n
	return n
}

// rulesOf returns the rules of a field, from the outermost type that has rules for it.
func (c *compiler) rulesOf(f jsonField) []*Rule {
	for _, t := range f.owners {
		if rules, ok := c.rules[t][f.name]; ok {
			return rules
		}
	}
	return nil
}

// element returns the type of what pointers, lists and maps hold.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// ours reports whether a type is one of agentry's or the Prometheus Operator's.
func ours(t reflect.Type) bool {
	p := t.PkgPath()
	return strings.HasPrefix(p, "github.com/prometheus-operator/") || strings.HasPrefix(p, "github.com/agentry-dev/")
}

// jsonField is a field as JSON has it: the fields of an embedded struct are its parent's.
type jsonField struct {
	name   string
	index  []int
	typ    reflect.Type
	owners []reflect.Type // the struct, then the embedded ones down to the one with the field
}

func jsonFields(t reflect.Type) (out []jsonField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case options == "inline" || f.Anonymous && name == "":
			for _, inner := range jsonFields(f.Type) {
				if slices.ContainsFunc(out, func(o jsonField) bool { return o.name == inner.name }) {
					continue // an outer field of this name hides it
				}
				inner.index = append([]int{i}, inner.index...)
				inner.owners = append([]reflect.Type{t}, inner.owners...)
				out = append(out, inner)
			}
		case name != "":
			out = append(out, jsonField{name: name, index: []int{i}, typ: f.Type, owners: []reflect.Type{t}})
		}
	}
	return out
}

// walk looks at one object.
type walk struct {
	path  []byte // of what is looked at now
	found diag.List
}

func (w *walk) value(n *node, v reflect.Value) {
	at := len(w.path)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(n, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.path = append(strconv.AppendInt(append(w.path, '['), int64(i), 10), ']')
			w.value(n, v.Index(i))
			w.path = w.path[:at]
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			w.path = append(append(append(w.path, '['), key.String()...), ']')
			w.value(n, v.MapIndex(key))
			w.path = w.path[:at]
		}
	case reflect.Struct:
		for i := range n.fields {
			w.field(&n.fields[i], v)
		}
	}
}

// field looks at a field of a struct. What is below a field that is not rendered needs no finding of its own.
func (w *walk) field(s *step, v reflect.Value) {
	f := v.FieldByIndex(s.index)
	if !set(f) {
		return
	}
	for _, r := range s.rules {
		if !slices.Contains(strings.Fields(r.Silent), scalar(f)) {
			w.found = append(w.found, r.finding(string(w.path)+"."+s.name))
			return
		}
	}
	if s.below != nil && len(s.rules) == 0 {
		at := len(w.path)
		w.path = append(append(w.path, '.'), s.name...)
		w.value(s.below, f)
		w.path = w.path[:at]
	}
}

// set reports whether a field says something: not if it is zero, nor if it is an empty list, map or text.
func set(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return false
		}
		v = v.Elem()
		if v.Kind() == reflect.Struct || v.Kind() == reflect.Bool || v.CanInt() {
			return true
		}
	}
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() > 0
	}
	return !v.IsZero()
}

// scalar returns the text of a scalar, or "".
func scalar(v reflect.Value) string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprint(v.Interface())
	}
	return ""
}
