package handwritten

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
)

// Kind is the program that reads a scrape configuration.
type Kind string

// The kinds. Each is the name of its type in the schema.
const (
	Metrics Kind = "metrics"
	Logs    Kind = "logs"
	// NewerMetrics is for a runtime with a newer Prometheus than the agent's: its own checks say what of that it has.
	NewerMetrics Kind = newer + "metrics"
)

// MaxFindings limits the findings about a list of scrape configurations.
const MaxFindings = 50

// Check checks the items of a list of scrape configurations, which must have no aliases and no nulls. strict means
// that the agent is the one that the schema describes: otherwise unknown fields are warnings, because a newer agent
// may know them. The agent accepts a list without errors.
func Check(kind Kind, items []*yaml.Node, strict bool) diag.List {
	c := &checker{kind: kind, types: schema(), strict: strict}
	for _, i := range items {
		c.value(string(kind), i, "")
	}
	if kind == Logs {
		c.jobNames(items)
	}
	return c.findings
}

// checker collects findings.
type checker struct {
	kind     Kind
	types    map[string]*schemaType
	strict   bool
	findings diag.List
	relabel  relabel.Checker
}

// report adds a finding. After the limit it only notes that there are more. The note is an error if one of these is.
func (c *checker) report(s diag.Severity, code diag.Code, n *yaml.Node, hint, format string, args ...any) {
	if k := len(c.findings); k > MaxFindings && (s != diag.Error || c.findings[k-1].Severity == diag.Error) {
		return
	}
	d := code.At("", format, args...).As(s).WithHint(hint)
	if len(c.findings) >= MaxFindings {
		d.Message, d.Hint = "further findings are not shown", ""
	}
	d.Line = n.Line
	c.findings = append(c.findings[:min(len(c.findings), MaxFindings)], d)
}

// full reports whether further findings are dropped.
func (c *checker) full() bool { return len(c.findings) > MaxFindings }

// refuse reports what the agent of the schema refuses: a warning if the agent may be another one.
func (c *checker) refuse(code diag.Code, n *yaml.Node, hint, format string, args ...any) {
	severity := diag.Error
	if !c.strict {
		severity = diag.Warning
	}
	c.report(severity, code, n, hint, format, args...)
}

// wrong is refuse without a code of its own.
func (c *checker) wrong(n *yaml.Node, hint, format string, args ...any) {
	c.refuse(diag.InvalidScrapeConfigs, n, hint, format, args...)
}

// warn reports what the agent accepts, but what does not work.
func (c *checker) warn(n *yaml.Node, hint, format string, args ...any) {
	c.report(diag.Warning, diag.InvalidScrapeConfigs, n, hint, format, args...)
}

// failed reports whether there is an error among the findings from an index on.
func (c *checker) failed(since int) bool {
	return c.findings[since:].HasErrors()
}

// value checks a value by its type. path has the names of the fields that lead to it, for messages.
func (c *checker) value(of string, n *yaml.Node, path string) {
	c.tagged(n)
	container, rest := item(of)
	switch {
	case of == "any":
		c.anything(n)
	case container == "list of ":
		c.list(rest, n, path)
	case container == "map of ":
		c.mapping(rest, n, path)
	case of == "labels":
		c.labels(n, path)
	case c.types[of] != nil:
		c.object(of, n, path)
	default:
		c.scalar(of, n, path)
	}
}

// tagged refuses explicit types, because the agent's YAML reader and ours treat them differently.
func (c *checker) tagged(n *yaml.Node) {
	plain := []string{"", "!!seq", "!!map", "!!str", "!!merge"}
	if n.Style&yaml.TaggedStyle != 0 || n.Kind != yaml.ScalarNode {
		if !slices.Contains(plain, n.Tag) {
			c.wrong(n, "write the value without it", "a value with an explicit YAML tag")
		}
	}
}

// anything checks only that a value can be read.
func (c *checker) anything(n *yaml.Node) {
	var seen map[any]bool
	if n.Kind == yaml.MappingNode {
		seen = make(map[any]bool, len(n.Content)/2)
	}
	for i, v := range n.Content {
		c.tagged(v)
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if key := resolve(v); seen[key] {
				c.wrong(v, "", "a key appears twice in one mapping")
			} else {
				seen[key] = true
			}
		}
		c.anything(v)
	}
}

func (c *checker) list(of string, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		if !live(n) {
			c.mismatch(n, path, "list")
		}
		return
	}
	for _, i := range n.Content {
		c.value(of, i, path)
	}
}

func (c *checker) mapping(of string, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		if !live(n) {
			c.mismatch(n, path, "mapping")
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		c.tagged(n.Content[i])
		if key := n.Content[i]; of == "text" && !isText(key) {
			c.wrong(key, "put it into quotes", "%s: a key is a %s, and the agent wants a text", path, typeOf(key))
		}
		c.value(of, n.Content[i+1], path)
	}
}

// object checks the fields of a mapping, and then the mapping as a whole.
func (c *checker) object(of string, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		if !live(n) {
			c.mismatch(n, path, "mapping")
		}
		return
	}
	t := c.types[of]
	for i := 0; i+1 < len(n.Content); i += 2 {
		c.member(t, n.Content[i], n.Content[i+1], path)
	}
	o := object{c, t, n, path}
	o.require(t.required)
	for _, r := range t.inherited {
		r(o)
	}
	if t.rule != nil {
		t.rule(o)
	}
}

// member checks one field of a mapping.
func (c *checker) member(t *schemaType, key, value *yaml.Node, path string) {
	c.tagged(key)
	of, ok := t.Fields[key.Value]
	if !ok {
		c.wrong(key, c.suggestion(key.Value, t.names), "a field that %s do not have", c.called(path))
		return
	}
	at := join(path, key.Value)
	c.value(of, value, at)
	if values := t.values[key.Value]; values != nil && value.Kind == yaml.ScalarNode {
		c.oneOf(value, at, values)
	}
}

// oneOf checks a value that must be one of a list.
func (c *checker) oneOf(n *yaml.Node, path string, values []string) {
	text, known := literal(n)
	if known && !slices.Contains(values, text) {
		c.wrong(n, c.suggestion(text, values), "%s: must be %s", path, alternatives(values))
	}
}
