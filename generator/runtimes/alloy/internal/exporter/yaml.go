package exporter

import (
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
)

// redacted stands for a credential in a text for reviewers.
const redacted = "<redacted>"

// asYAML returns a value as YAML. Texts with variables are in quotes, as they are for the agent: what a variable holds
// stays a text.
func asYAML(v model.Value, redact bool) string {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	_ = e.Encode(node(v, redact)) // a builder does not fail, and nodes of these kinds can be encoded
	_ = e.Close()
	return b.String()
}

func node(v model.Value, redact bool) *yaml.Node {
	switch v := v.(type) {
	case model.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, p := range v {
			n.Content = append(n.Content, text(p.Key), node(p.Value, redact))
		}
		return n
	case model.List:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, node(item, redact))
		}
		return n
	case model.Credential:
		if redact {
			return text(redacted)
		}
		return node(v.Value, redact)
	case model.String:
		return text(string(v))
	case model.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)}
	case model.Variable:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)}
	case model.Bool:
		n := &yaml.Node{}
		n.SetString("false")
		if v {
			n.SetString("true")
		}
		n.Tag = "!!bool"
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
}

// text returns a text. It is in quotes if a reader of YAML 1.1 would take it for something else, as exporters are.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	var read any
	if err := yamlv2.Unmarshal([]byte(s), &read); err != nil || read != s || strings.ContainsAny(s, "$\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
