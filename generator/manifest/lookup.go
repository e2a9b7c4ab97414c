package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
)

// File is the name of the file that the object was read from.
func (o *Object) File() string { return o.at.file }

// Text is what the object was written as: its document or, if it is one of a List, its item as
// JSON. Read by itself, with the same options, it is the same object.
func (o *Object) Text() string {
	if o.at.prefix == "" {
		return o.at.text
	}
	value, _, _ := yamlvalue.Decode(o.at.text) // was read before
	for step := range strings.SplitSeq(o.at.prefix, ".") {
		list := value.(map[string]any)
		i, _ := strconv.Atoi(step[len("items[") : len(step)-1])
		item := list["items"].([]any)[i].(map[string]any)
		inherit(item, list)
		value = item
	}
	text, _ := json.Marshal(value) // was made of YAML
	return string(text)
}

// Has reports whether the object was written with a field at path.
func (o *Object) Has(path string) bool {
	_, _, found := o.at.find(path)
	return found
}

// Namespaces returns the names of all namespaces that objects are in or that have a
// manifest, sorted.
func (s *Set) Namespaces() []string {
	names := map[string]bool{}
	for _, o := range s.objects {
		if o.Kind == "Namespace" {
			names[o.Name] = true
		} else {
			names[o.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// IsManifestPath reports whether a file of a folder is read as manifests: its name ends
// in .yaml, .yml or .json, and neither it nor a folder on the way is hidden (by a dot).
func IsManifestPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return false
		}
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// TooLarge is the result of a file that is larger than [MaxFileBytes], for callers that
// do not even read such a file.
func TooLarge(f File) Result {
	p := &parser{file: f}
	p.broken(diag.FileTooLarge, 0, 0, fmt.Sprintf("the file has more than %d bytes", MaxFileBytes), "")
	return p.result
}
