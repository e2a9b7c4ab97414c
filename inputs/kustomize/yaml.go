package kustomize

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// marshal returns a value as YAML.
func marshal(value any) string {
	text, _ := sigsyaml.Marshal(value) // it was decoded from YAML
	return string(text)
}

// marshalNode returns a node as YAML.
func marshalNode(node *yaml.Node) string {
	text, _ := yaml.Marshal(node) // it was decoded from YAML
	return string(text)
}

// documents yields the documents of a text, as far as they are valid.
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

// remoteIn returns a value of a field that names files, if it is on another machine.
func remoteIn(node *yaml.Node, names bool) *yaml.Node {
	switch node.Kind {
	case yaml.ScalarNode:
		_, value, found := strings.Cut(node.Value, "=")
		if names && (isRemote(node.Value) || found && isRemote(value)) {
			return node
		}
	case yaml.AliasNode:
		return remoteIn(node.Alias, names)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if found := remoteIn(item, names); found != nil {
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

var errAliases = errors.New("with its aliases expanded, the file is too large")

// bounded returns an error if the aliases of a text make it too large. kustomize expands them all.
func bounded(data []byte) error {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return nil
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var value any
		err := decoder.Decode(&value)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && strings.Contains(err.Error(), "excessive aliasing"):
			return errAliases
		case err != nil:
			return nil // kustomize says so as well
		}
	}
}
