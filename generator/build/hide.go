package build

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/internal/credential"
)

// credentialKey matches the fields of scrape configurations that hold a credential as plain text.
var credentialKey = regexp.MustCompile(`^(?:.*_)?(?:password|passphrase|token|credentials|secret|secret_key|private_key|key|consumer_key|connection_string)$`)

// redacted returns a hand-written scrape configuration with placeholders for its credentials, and whether it has any.
func redacted(n *yaml.Node) (out *yaml.Node, hides bool) {
	if n.Kind == yaml.ScalarNode && credential.InURL(n.Value) {
		return placeholder(n), true
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.ScalarNode
		shown, found := redacted(child)
		if isValue && credentialKey.MatchString(n.Content[i-1].Value) && n.Content[i-1].Value != "access_key" {
			shown, found = placeholder(child), true
		}
		c.Content[i], hides = shown, hides || found
	}
	return &c, hides
}

func placeholder(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "<redacted>", Style: yaml.DoubleQuotedStyle, Line: n.Line}
}
