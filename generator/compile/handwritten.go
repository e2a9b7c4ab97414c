package compile

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// contentPath returns the path of the content in the Secret, below stringData or data.
func contentPath(secret *manifest.Object, key string) string {
	if secret.Has("stringData[" + key + "]") {
		return "stringData[" + key + "]"
	}
	return "data[" + key + "]"
}

// mistake returns a diagnostic about a line of the text. The message contains none of the text.
func mistake(line int, message string) *diag.Diagnostic {
	d := diag.InvalidScrapeConfigs.At("", "%s", message)
	d.Line = line
	return &d
}

// parseJobs parses a YAML list of mappings and writes out aliases and merges. An empty text is an empty list.
// As with the operator, nulls are dropped. Comments are dropped too, because variables in them would be
// expanded. Notes are about what is left out.
func parseJobs(text []byte) (items []*yaml.Node, notes diag.List, bad *diag.Diagnostic) {
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, syntaxError(text)
	}
	if err := decoder.Decode(&more); err == nil && !isNull(more.Content[0]) {
		notes = append(notes, *mistake(more.Line, "a second YAML document, which is ignored"))
	}
	w := yamlCopier{left: maxNodes}
	root := w.out(doc.Content[0], 0)
	if w.bad != nil {
		return nil, nil, w.bad
	}
	for _, line := range w.nulls {
		notes = append(notes, *mistake(line,
			"null in a stage is left out, as by the operator: write \"\" for a label's source, and {} for a stage "+
				"without settings"))
	}
	if root == nil {
		return nil, notes, nil
	}
	if root.Kind != yaml.SequenceNode {
		return nil, nil, mistake(root.Line, "must be a list of scrape configurations")
	}
	for _, item := range root.Content {
		if item.Kind != yaml.MappingNode {
			return nil, nil, mistake(item.Line, "each item must be a mapping")
		}
	}
	return root.Content, notes, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// encodeNode encodes one item with the encoder's indentation. Scalars keep their style, so their text stays as
// the user wrote it.
func encodeNode(item *yaml.Node) ([]byte, error) {
	var buf bytes.Buffer
	encoder := yaml.NewEncoder(&buf)
	encoder.SetIndent(2)
	if err := encoder.Encode(item); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// syntaxError returns what is wrong with a text that yaml.v3, which is needed for its nodes, cannot parse: in the words
// and at the place that a manifest gets. It names nothing of the text.
func syntaxError(text []byte) *diag.Diagnostic {
	bad := &yamlvalue.Error{Message: "is not valid YAML"}
	_, _, err := yamlvalue.Decode(string(text))
	errors.As(err, &bad)
	bad = bad.WithoutNames()
	d := mistake(max(bad.Line, 1), bad.Message).WithHint(bad.Hint)
	d.Column = bad.Column
	return &d
}

// redacted returns a hand-written scrape configuration with placeholders for its credentials, and whether it has any:
// those that the agent masks or, for review, also those in parameters, headers and rules.
func redacted(n *yaml.Node, review bool) (out *yaml.Node, hides bool) {
	if n.Kind == yaml.ScalarNode && credential.InURL(n.Value) {
		return placeholder(n), true
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		shown, found := redacted(child, review)
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			switch name := n.Content[i-1].Value; {
			case child.Kind == yaml.ScalarNode && credential.InClient(name),
				review && name == "replacement" && credential.InRule(scalarOf(n, "target_label"), child.Value),
				review && isCredential(name, child):
				shown, found = placeholder(child), true
			}
		}
		c.Content[i], hides = shown, hides || found
	}
	return &c, hides
}

// isCredential reports whether a text, or one of a list of texts, is a credential, as the name of its parameter or
// header says.
func isCredential(name string, n *yaml.Node) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return credential.InField(name, n.Value)
	case yaml.SequenceNode:
		return slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return isCredential(name, item) })
	}
	return false
}

// scalarOf returns the text of a field of a mapping, or "".
func scalarOf(n *yaml.Node, name string) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name && n.Content[i+1].Kind == yaml.ScalarNode {
			return n.Content[i+1].Value
		}
	}
	return ""
}

func placeholder(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "<redacted>", Style: yaml.DoubleQuotedStyle,
		Line: n.Line}
}
