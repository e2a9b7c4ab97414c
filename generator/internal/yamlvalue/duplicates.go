package yamlvalue

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// duplicateKey finds the first key that occurs twice in one mapping, or returns nil. Merged
// keys do not count: setting them again is what they are for.
func duplicateKey(text string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		// The parser that matters could read it; it is only the position that is not known.
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
					Message: fmt.Sprintf("the key %q occurs twice", name),
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

// nodeName is the key that a node stands for, unless it is a merge key or no scalar.
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
