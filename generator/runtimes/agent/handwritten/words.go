package handwritten

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
)

// suggestion returns a hint with the likely name.
func (c *checker) suggestion(word string, names []string) string {
	const longest = 100 // longer words are not misspellings
	if len(word) > longest || c.full() {
		return ""
	}
	return diag.DidYouMean(word, names)
}

// join returns the path of a field.
func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// called returns how messages call the mappings at a path.
func (c *checker) called(path string) string {
	switch {
	case path == "" && c.kind == NewerMetrics:
		return "scrape configurations of Prometheus"
	case path == "":
		return "the agent's scrape configurations"
	}
	return "mappings of " + path
}

// alternatives lists the valid values.
func alternatives(values []string) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	return diag.Alternatives(values)
}

// mismatch reports a value of the wrong type.
func (c *checker) mismatch(n *yaml.Node, path, want string) {
	if c.full() {
		c.wrong(n, "", "%s", path)
		return
	}
	hint := ""
	switch {
	case want == "list" && n.Kind == yaml.ScalarNode:
		hint = "write it as a list of one item"
	case want == "text" && n.Kind == yaml.ScalarNode:
		hint = "put it into quotes"
	case isText(n) && n.Style&quoted != 0 && want != "list" && want != "mapping":
		hint = "write it without quotes"
	}
	if is := typeOf(n); is != want {
		c.wrong(n, hint, "%s: is a %s, and the agent wants a %s", path, is, want)
		return
	}
	c.wrong(n, "", "%s: is a number that the agent has no room for", path)
}

// typeOf returns how messages call a value.
func typeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	switch resolve(n).(type) {
	case string:
		return "text"
	case bool:
		return "boolean"
	case nil:
		return "null"
	}
	return "number"
}
