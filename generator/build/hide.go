package build

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// credentialKey are the fields of scrape configurations that hold a credential in clear.
var credentialKey = regexp.MustCompile(`^(?:.*_)?(?:password|passphrase|token|credentials|secret|secret_key|private_key|key|consumer_key|connection_string)$`)

// hide puts a placeholder in place of the credentials of a hand-written scrape
// configuration, and reports whether there are any.
func hide(n *yaml.Node) bool {
	found := false
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key, value := n.Content[i].Value, n.Content[i+1]; value.Kind == yaml.ScalarNode && credentialKey.MatchString(key) && key != "access_key" {
				*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "<redacted>", Style: yaml.DoubleQuotedStyle, Line: value.Line}
				found = true
			}
		}
	}
	for _, child := range n.Content {
		found = hide(child) || found
	}
	return found
}
