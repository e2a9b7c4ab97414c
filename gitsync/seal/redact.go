package seal

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Placeholder stands for each value of a Secret where sealed Secrets are shown before they are written.
const Placeholder = "<encrypted on the output branch>"

// fields are those of a Secret with values.
func isField(name string) bool { return name == "data" || name == "stringData" }

// IsClear reports whether a manifest of a Secret has a value that SOPS has not encrypted. What cannot be read counts as
// one.
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

// isEncrypted reports whether SOPS encrypted all values, of which there may be none.
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

// Redact returns the manifest of a Secret with a placeholder for each value and without what SOPS adds, or nothing but
// a comment if it cannot be read.
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

// hide replaces the values of a mapping.
func hide(values *yaml.Node) {
	if values.Kind != yaml.MappingNode {
		*values = yaml.Node{Kind: yaml.ScalarNode, Value: Placeholder}
		return
	}
	for i := 0; i+1 < len(values.Content); i += 2 {
		// without what is said about it
		values.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Value: values.Content[i].Value}
		values.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: Placeholder}
	}
}

// dropComments removes comments: one about a value can quote it.
func dropComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		dropComments(child)
	}
}

// read returns the mapping of a manifest.
func read(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 ||
		document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is no mapping")
	}
	root := document.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == "<<" {
			return nil, errors.New("takes fields from elsewhere")
		}
	}
	return root, nil
}
