package seal

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Placeholder replaces each value of a sealed Secret in a preview.
const Placeholder = "<encrypted on the output branch>"

// isField reports whether a field of a Secret has its values.
func isField(name string) bool { return name == "data" || name == "stringData" }

// IsClear reports whether the manifest of a Secret has an unencrypted value. An unreadable manifest counts as one with
// unencrypted values.
func IsClear(text []byte) bool {
	root, err := read(text)
	if err != nil {
		return true
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if isField(root.Content[i].Value) && !isEncrypted(root.Content[i+1]) {
			return true
		}
	}
	return false
}

// isEncrypted reports whether SOPS encrypted all values. There may be none.
func isEncrypted(values *yaml.Node) bool {
	if values.Kind != yaml.MappingNode {
		return values.ShortTag() == "!!null"
	}
	for i := 1; i < len(values.Content); i += 2 {
		v := values.Content[i]
		if v.Kind != yaml.ScalarNode || !strings.HasPrefix(v.Value, "ENC[") || !strings.HasSuffix(v.Value, "]") {
			return false
		}
	}
	return true
}

// Redact returns the manifest of a Secret with a placeholder for each value and without the field of SOPS, or only a
// comment if it cannot be read.
func Redact(text []byte) []byte {
	unreadable := []byte("# " + Placeholder + "\n")
	root, err := read(text)
	if err != nil {
		return unreadable
	}
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		switch name := root.Content[i].Value; {
		case isField(name):
			hide(root.Content[i+1])
		case name == "sops":
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	dropComments(root)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if e.Encode(root) != nil || e.Close() != nil {
		return unreadable
	}
	return out.Bytes()
}

// hide replaces the values of a mapping by placeholders.
func hide(values *yaml.Node) {
	if values.Kind != yaml.MappingNode {
		*values = yaml.Node{Kind: yaml.ScalarNode, Value: Placeholder}
		return
	}
	for i := 0; i+1 < len(values.Content); i += 2 {
		// A new node has no comments, tags or anchors.
		values.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Value: values.Content[i].Value}
		values.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: Placeholder}
	}
}

// dropComments removes all comments, because they may quote values.
func dropComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		dropComments(child)
	}
}

// read parses a manifest, which must be one mapping without a merge key.
func read(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 ||
		document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is not a mapping")
	}
	root := document.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == "<<" {
			return nil, errors.New("has a merge key")
		}
	}
	return root, nil
}
