package yamlvalue

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// duplicateKey returns an error for the first key that occurs twice in one mapping, or nil. Keys of a merge (<<) may
// be overridden.
func duplicateKey(text string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		// The full parser accepted the document, so only the position is unknown.
		return &Error{Reason: DuplicateKey, Message: "a key occurs twice in a mapping"}
	}
	if err := duplicateBelow(&document); err != nil {
		return err
	}
	return nil
}

func duplicateBelow(node *yaml.Node) *Error {
	var seen map[string]bool
	if node.Kind == yaml.MappingNode {
		seen = make(map[string]bool, len(node.Content)/2)
	}
	for i, child := range node.Content {
		if name, ok := nodeName(child); ok && seen != nil && i%2 == 0 {
			if seen[name] {
				return &Error{
					Reason: DuplicateKey, Line: child.Line, Column: child.Column,
					Message: fmt.Sprintf("the key %q occurs twice", name), Hint: separatorHint(child, name),
				}
			}
			seen[name] = true
		}
		if err := duplicateBelow(child); err != nil {
			return err
		}
	}
	return nil
}

// separatorHint returns a hint if a second object begins where a key occurs twice.
func separatorHint(key *yaml.Node, name string) string {
	if key.Column == 1 && (name == "apiVersion" || name == "kind") {
		return separateDocuments
	}
	return ""
}

// nodeName returns the key in a node. It returns false for a merge key and for anything but a scalar.
func nodeName(node *yaml.Node) (string, bool) {
	if node.Kind != yaml.ScalarNode || node.Tag == "!!merge" {
		return "", false
	}
	if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.TaggedStyle) != 0 {
		return node.Value, true
	}
	key, ok := resolve(node.Value)
	if !ok {
		return node.Value, true
	}
	if i, isInt := key.(int64); isInt {
		key = int(i)
	}
	return keyName(key)
}
