package difference

import (
	"encoding/json"
	"strconv"
)

// Op is the operation by which an object or a part of it changes.
type Op string

// The operations.
const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
	// Reordered means that the named items of a list are in another order. After has their names.
	Reordered Op = "reordered"
)

// Change is one change of an object.
type Change struct {
	Op   Op   `json:"op"`
	Path Path `json:"path"`
	// Before and After are the values; nil where there is none.
	Before *Value `json:"before,omitempty"`
	After  *Value `json:"after,omitempty"`
}

// Path is the place of a part in an object.
type Path []Step

// Step is a field, or an item of a list.
type Step struct {
	// Field is the name of a field, or of the field that identifies the items of a list; empty if items are identified
	// by their index.
	Field string
	// Name is the name of an item.
	Name   string
	IsItem bool
	// Old and New are the indices of an item in the list before and after; -1 if the item is not in it.
	Old, New int
}

// MarshalJSON encodes a field as its name, and an item with its indices.
func (s Step) MarshalJSON() ([]byte, error) {
	if !s.IsItem {
		return json.Marshal(s.Field)
	}
	return json.Marshal(struct {
		By   string `json:"by,omitempty"`
		Name string `json:"name,omitempty"`
		Old  int    `json:"old"`
		New  int    `json:"new"`
	}{s.Field, s.Name, s.Old, s.New})
}

// String formats a step like those in spec.containers[name=web].args[2].
func (s Step) String() string {
	switch {
	case !s.IsItem:
		return s.Field
	case s.Field != "":
		return "[" + s.Field + "=" + s.Name + "]"
	case s.New >= 0:
		return "[" + strconv.Itoa(s.New) + "]"
	}
	return "[" + strconv.Itoa(s.Old) + "]"
}

// String formats a path as in spec.containers[name=web].args[2].
func (p Path) String() string {
	text := ""
	for i, s := range p {
		if i > 0 && !s.IsItem {
			text += "."
		}
		text += s.String()
	}
	return text
}

// with returns the path with one more step. The result shares no memory with other results.
func (p Path) with(s Step) Path { return append(p[:len(p):len(p)], s) }

// comparison collects the changes of one object.
type comparison struct {
	secrets *secrets
	changes []Change
}

func (c *comparison) add(op Op, at Path, before, after *node) {
	change := Change{Op: op, Path: at}
	if before != nil {
		change.Before = &Value{c.secrets, before}
	}
	if after != nil {
		change.After = &Value{c.secrets, after}
	}
	c.changes = append(c.changes, change)
}

// compare finds the changes from one value to another.
func (c *comparison) compare(at Path, before, after *node) {
	if before.isSame(after) {
		return
	}
	before.read()
	switch after.read(); {
	case before.shape != after.shape:
		c.add(Changed, at, before, after)
	case before.shape == mapping:
		c.fields(at, before, after)
	case before.shape == sequence:
		c.items(at, before, after)
	case before.plain != after.plain:
		c.add(Changed, at, before, after)
	}
}

// fields compares two mappings.
func (c *comparison) fields(at Path, before, after *node) {
	old, now := byName(before.fields), byName(after.fields)
	for _, name := range fieldNames(before, after) {
		step := at.with(Step{Field: name})
		switch b, a := old[name], now[name]; {
		case b == nil:
			c.add(Added, step, nil, a)
		case a == nil:
			c.add(Removed, step, b, nil)
		default:
			c.compare(step, b, a)
		}
	}
}

func byName(fields []*node) map[string]*node {
	out := make(map[string]*node, len(fields))
	for _, f := range fields {
		out[f.name] = f
	}
	return out
}
