package kustomize

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
)

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// marshal encodes a value as YAML.
func marshal(value any) string {
	text, _ := sigsyaml.Marshal(value) // cannot fail: it was decoded from YAML
	return string(text)
}

// marshalNode encodes a node as YAML.
func marshalNode(node *yaml.Node) string {
	text, _ := yaml.Marshal(node) // cannot fail: it was decoded from YAML
	return string(text)
}

// documents yields the documents of a text up to the first invalid one.
func documents(data []byte) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
			var doc yaml.Node
			if decoder.Decode(&doc) != nil {
				return
			}
			if len(doc.Content) > 0 && !yield(doc.Content[0]) {
				return
			}
		}
	}
}

// remoteIn returns a remote path in a field that names files, or nil. namesFiles says whether node is in such a field.
func remoteIn(node *yaml.Node, namesFiles bool) *yaml.Node {
	switch node.Kind {
	case yaml.ScalarNode:
		_, value, found := strings.Cut(node.Value, "=")
		if namesFiles && (isRemote(node.Value) || found && isRemote(value)) {
			return node
		}
	case yaml.AliasNode:
		return remoteIn(node.Alias, namesFiles)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if found := remoteIn(item, namesFiles); found != nil {
				return found
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			field := strings.ToLower(node.Content[i].Value)
			named := slices.Contains([]string{"path", "paths", "files", "envs", "env", "<<"}, field)
			if found := remoteIn(node.Content[i+1], named); found != nil {
				return found
			}
		}
	}
	return nil
}

// checkAliases returns an error if the aliases of a file make it too large, because kustomize expands them all.
func checkAliases(name string, data []byte) error {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return nil
	}
	for doc := range documents(data) {
		var value any
		if err := doc.Decode(&value); err != nil && strings.Contains(err.Error(), "excessive aliasing") {
			return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: name, Line: doc.Line,
				Column: doc.Column, Message: "with the aliases of this document expanded, the file is too large",
				Hint: "write fewer aliases (*name) of values that have aliases themselves"}
		}
	}
	return nil // what is not YAML is reported by kustomize
}
