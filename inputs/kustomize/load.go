package kustomize

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// unknownField matches the error of encoding/json for an unknown field.
var unknownField = lazyregexp.New(`json: unknown field "([A-Za-z0-9_-]{1,64})"`)

// unreadable says why a kustomization is not YAML.
func unreadable(name string, data []byte, err error) error {
	if d, found := manifest.Syntax(manifest.File{Path: name, Data: data}); found {
		d.Message = "the kustomization cannot be read: " + d.Message
		return &d
	}
	line := 0
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: name, Line: line,
		Message: "the kustomization is not valid YAML"}
}

// load reads a kustomization. Its errors quote no values, because these could be secret.
func load(t *tree.Tree, name string) (*file, error) {
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, explain(err, name)
	}
	root := &yaml.Node{}
	f := &file{name: name, find: func(field string) (string, int, int) {
		_, value, rest := manifest.Walk(root, field)
		if rest == field {
			return name, 0, 0
		}
		return name, value.Line, value.Column
	}}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, unreadable(name, data, err)
	}
	if len(document.Content) > 0 {
		root = document.Content[0]
		f.root = root
	}
	if err := checkAliases(name, data); err != nil {
		return nil, err
	}
	if err := f.Unmarshal(data); err != nil {
		if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
			return nil, f.unknown(m[1])
		}
		return nil, f.mistyped(err)
	}
	if wrong := f.EnforceFields(); len(wrong) > 0 {
		field, _, _ := strings.Cut(wrong[0], " ")
		return nil, f.at(diag.BuildFailed, field, "is not known to kustomize",
			"write apiVersion: "+types.KustomizationVersion+" and kind: "+types.KustomizationKind+", or leave both out")
	}
	return f, nil
}

// mistyped explains the error about a value of the wrong type.
func (f *file) mistyped(err error) error {
	w, found := wrongType(f.root, err)
	switch {
	case !found:
		return failed(f.name, "a field of the kustomization has a value of the wrong type",
			"run kustomize build to see which one")
	case w.node != nil:
		return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: f.name, Line: w.node.Line,
			Column: w.node.Column, Message: w.field + ": " + w.message, Hint: w.hint()}
	}
	return f.at(diag.BuildFailed, w.field, w.message, w.hint())
}

// mistake is a value of the wrong type.
type mistake struct {
	field, message string
	node           *yaml.Node // the value, if it was found
	want           string     // its JSON Schema type, if known
}

// hint says what to do.
func (m mistake) hint() string {
	if m.node != nil && m.node.Kind == yaml.ScalarNode && m.want == "string" {
		return "write it in quotes"
	}
	return "kustomize's reference shows the fields"
}

// wrongType returns the value of the wrong type in a document, if that is what an error is about.
func wrongType(root *yaml.Node, err error) (m mistake, found bool) {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return m, false
	}
	want := typeOf(wrong.Type)
	steps := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(step string) bool {
		return step != "" && unicode.IsUpper(rune(step[0])) // it is an embedded type of Go, and no field in YAML
	})
	isItem := wrong.Type.Kind() != reflect.Map && wrong.Type.Kind() != reflect.Slice
	if at, node := mistyped(root, "", steps, want, isItem); node != nil && want != "" {
		return mistake{at, "must be " + manifest.TypeInWords(want), node, want}, true
	}
	field, below, isBelow := strings.Cut(strings.Join(steps, "."), ".")
	m = mistake{field: field, message: "has a value of the wrong type"}
	switch word := manifest.TypeInWords(want); {
	case isBelow:
		m.message = "the field " + below + " of an entry " + m.message
	case word != "":
		m.message = "must be " + word
	}
	return m, true
}

// mistyped finds the first value at a path, and its position in the document, that does not have a JSON Schema type.
// Steps of the path lead to a field of each entry of a list. With isItem, the value may also be an item of a list or
// mapping at the end of the path.
func mistyped(node *yaml.Node, at string, steps []string, want string, isItem bool) (string, *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case len(steps) == 0 && hasType(node, want):
		return "", nil
	case len(steps) == 0 && !isItem:
		return at, node
	}
	switch node.Kind {
	case yaml.SequenceNode:
		for i, item := range node.Content {
			if at, found := mistyped(item, at+index(i), steps, want, isItem); found != nil {
				return at, found
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			rest := steps
			if key := node.Content[i].Value; len(steps) > 0 && key == steps[0] {
				rest = steps[1:]
			} else if len(steps) > 0 {
				continue
			}
			below := strings.TrimPrefix(at+"."+node.Content[i].Value, ".")
			if at, found := mistyped(node.Content[i+1], below, rest, want, isItem); found != nil {
				return at, found
			}
		}
	}
	if len(steps) > 0 {
		return "", nil
	}
	return at, node
}

// hasType reports whether a value has a JSON Schema type.
func hasType(node *yaml.Node, want string) bool {
	types := map[string]string{"array": "!!seq", "object": "!!map", "string": "!!str", "boolean": "!!bool",
		"integer": "!!int"}
	tag := node.ShortTag()
	return tag == types[want] || tag == "!!null"
}

// unknown returns the error about a field of this name that kustomize does not know, in the kustomization or in one of
// its entries.
func (f *file) unknown(name string) error {
	if _, _, rest := manifest.Walk(f.root, name); rest == "" {
		return f.at(diag.BuildFailed, name, "unknown field", diag.DidYouMean(name, fieldNames()))
	}
	d := diag.BuildFailed.At("", "%s: unknown field", name)
	d.File = f.name
	if key := keyNamed(f.root, name); key != nil {
		d.Line, d.Column = key.Line, key.Column
	}
	return &d
}

// keyNamed returns the first key of a name in a node, or nil.
func keyNamed(node *yaml.Node, name string) *yaml.Node {
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && inner.Value == name {
			return inner
		}
		if found := keyNamed(inner, name); found != nil {
			return found
		}
	}
	return nil
}

// typeOf returns the JSON Schema type that is decoded into a Go type, or "".
func typeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	}
	return ""
}

var yamlLine = lazyregexp.New(`line ([0-9]{1,9})`)

func fieldNames() []string {
	return []string{"resources", "components", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels",
		"commonAnnotations", "patches",
		"patchesStrategicMerge", "patchesJson6902", "images", "replicas", "replacements", "configMapGenerator",
		"secretGenerator", "generatorOptions",
		"generators", "transformers", "validators", "configurations", "crds", "vars", "openapi", "helmCharts",
		"helmGlobals", "buildMetadata", "sortOptions"}
}
