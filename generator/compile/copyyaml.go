package compile

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
)

const (
	// maxNodes limits the size of hand-written scrape configurations after aliases are written out.
	maxNodes = 200_000
	// maxDepth limits their depth. An alias of itself has no end.
	maxDepth = 50
)

// yamlCopier copies YAML. It writes out aliases and merges, and drops nulls, comments and anchors.
type yamlCopier struct {
	left int
	bad  *diag.Diagnostic
	// stages is true while stages of a pipeline are copied. nulls are the lines where a null was dropped from them.
	stages bool
	nulls  []int
}

func (w *yamlCopier) fail(n *yaml.Node, message string) *yaml.Node {
	if w.bad == nil {
		w.bad = mistake(n.Line, message)
	}
	return nil
}

// out returns the copy of a node. It returns nil for null and after an error.
func (w *yamlCopier) out(n *yaml.Node, depth int) *yaml.Node {
	if w.left--; w.left < 0 || depth > maxDepth {
		return w.fail(n, "is nested too deep, or too large once its aliases are written out")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.out(n.Alias, depth+1)
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		c := &yaml.Node{Kind: yaml.SequenceNode, Tag: n.Tag, Line: n.Line}
		for _, item := range n.Content {
			if v := w.out(item, depth+1); v != nil {
				c.Content = append(c.Content, v)
			}
		}
		return c
	}
	return w.fail(n, "not a value")
}

// scalar returns a scalar as written. It double-quotes texts with line breaks that only some YAML parsers know.
func scalar(n *yaml.Node) *yaml.Node {
	if isNull(n) {
		return nil
	}
	c := &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Value, Style: n.Style, Line: n.Line}
	if strings.ContainsFunc(n.Value, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
		c.Style = c.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
	}
	return c
}

func (w *yamlCopier) mapping(n *yaml.Node, depth int) *yaml.Node {
	c := &yaml.Node{Kind: yaml.MappingNode, Tag: n.Tag, Line: n.Line}
	var merged []*yaml.Node
	have := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, outer := w.out(n.Content[i], depth+1), w.stages
		w.stages = outer || key != nil && key.Value == "pipeline_stages"
		value := w.out(n.Content[i+1], depth+1)
		if w.stages = outer; outer && value == nil && key != nil {
			w.nulls = append(w.nulls, key.Line)
		}
		switch {
		case w.bad != nil:
			return nil
		case key == nil || key.Kind != yaml.ScalarNode:
			return w.fail(n.Content[i], "a key must be text")
		case key.Tag == "!!merge" && value != nil:
			merged = append(merged, value)
			continue
		case have[key.Value]:
			return w.fail(n.Content[i], "a key appears twice in one mapping")
		}
		have[key.Value] = true
		if value != nil {
			c.Content = append(c.Content, key, value)
		}
	}
	for _, m := range merged {
		w.merge(c, m, have)
	}
	return c
}

// merge adds the keys that the mapping does not have yet. Of several merged mappings, the first takes precedence.
func (w *yamlCopier) merge(c, from *yaml.Node, have map[string]bool) {
	switch from.Kind {
	case yaml.SequenceNode:
		for _, item := range from.Content {
			w.merge(c, item, have)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			if key := from.Content[i]; !have[key.Value] {
				have[key.Value] = true
				c.Content = append(c.Content, key, from.Content[i+1])
			}
		}
	default:
		w.fail(from, "only a mapping can be merged")
	}
}
