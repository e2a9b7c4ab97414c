package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Paths have Kubernetes' form, which is ambiguous: a map key can contain dots and brackets, and not all of
// Kubernetes puts such keys in brackets. So a path is resolved against the object, and the longest key that
// fits is used.
//
// After a > a path continues in the YAML text that a string holds, or is a line and column of any text:
// spec.stages>[0].regex, spec.stages>3:7.

// Walk follows a path of [Object.Diag] below a node, as far as it exists. It returns the value, its key if it has one,
// and the rest of the path.
func Walk(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	for path != "" {
		nextKey, next, rest, ok := step(node, path)
		if !ok {
			break
		}
		key, node, path = nextKey, next, rest
	}
	return key, node, path
}

// step follows one step of a path. ok is false if it does not exist.
func step(node *yaml.Node, path string) (key, value *yaml.Node, rest string, ok bool) {
	node = resolved(node)
	switch node.Kind {
	case yaml.SequenceNode:
		index, rest, found := cutIndex(path)
		if !found || index >= len(node.Content) {
			return nil, nil, "", false
		}
		return nil, node.Content[index], rest, true
	case yaml.MappingNode:
		best := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			after, fits := cutKey(path, node.Content[i].Value)
			if fits && (best < 0 || len(after) < len(rest)) {
				best, rest = i, after
			}
		}
		if best >= 0 {
			return node.Content[best], node.Content[best+1], rest, true
		}
	}
	return nil, nil, "", false
}

// resolved returns the node that an alias refers to.
func resolved(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

// lookup returns the value at a path, or nil.
func lookup(value any, path string) any {
	for path != "" {
		switch parent := value.(type) {
		case []any:
			index, rest, found := cutIndex(path)
			if !found || index >= len(parent) {
				return nil
			}
			value, path = parent[index], rest
		case map[string]any:
			best, rest, found := "", "", false
			for key := range parent {
				after, fits := cutKey(path, key)
				if fits && (!found || len(after) < len(rest)) {
					best, rest, found = key, after, true
				}
			}
			if !found {
				return nil
			}
			value, path = parent[best], rest
		default:
			return nil
		}
	}
	return value
}

// cutKey cuts a key off the front of a path. The key can be in brackets.
func cutKey(path, key string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, key)
	if !ok || key == "" {
		rest, ok = strings.CutPrefix(path, "["+key+"]")
	}
	switch {
	case !ok:
		return "", false
	case rest == "" || rest[0] == '[' || rest[0] == '>':
		return rest, true
	case rest[0] == '.':
		return rest[1:], true
	}
	return "", false
}

// cutIndex cuts an index, [3], off the front of a path.
func cutIndex(path string) (index int, rest string, ok bool) {
	inside, rest, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !found || path[0] != '[' {
		return 0, "", false
	}
	index, err := strconv.Atoi(inside)
	if err != nil || index < 0 {
		return 0, "", false
	}
	return index, strings.TrimPrefix(rest, "."), true
}
