package kustomizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
)

// operation is one operation of a JSON patch.
type operation struct {
	Op, Path, From string
}

// failedOperation returns the operation that does not fit an object, if the entry that makes a build fail is a JSON
// patch. It is nil for other entries, or if there is no such operation.
func (b *bisection) failedOperation(f *kustomization, field string) *Operation {
	p, before := f.patchBefore(field)
	if p.Target == nil {
		return nil
	}
	file, text := "", []byte(p.Patch)
	if p.Path != "" {
		file = path.Join(f.folder, p.Path)
		text, _ = b.files.ReadFile(file) // kustomize has read it
	}
	var document yaml.Node
	var objects []*resource.Resource
	var err error
	if tried := b.try(f, before, func(built resmap.ResMap) {
		objects, err = built.Select(*p.Target)
	}); tried != nil || err != nil || yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 && !json.Valid(text) {
		return nil
	}
	for _, object := range objects {
		i, problem, hint := failingOperation(object, list)
		if problem == "" {
			continue
		}
		name := object.GetKind() + "/" + cmp.Or(object.GetNamespace(), f.Namespace) + "/" + object.GetName()
		return &Operation{File: file, Index: i, Text: operationOf(list.Content[i]).String(),
			Object: strings.Replace(name, "//", "/", 1), Problem: problem, Hint: hint}
	}
	return nil
}

// failingOperation returns the index of the first operation that cannot be applied to an object, and why.
func failingOperation(object *resource.Resource, list *yaml.Node) (i int, problem, hint string) {
	known := []string{"add", "remove", "replace", "move", "copy", "test"}
	text, err := object.MarshalJSON()
	if err != nil {
		return 0, "", ""
	}
	defer func(limit int64) { jsonpatch.AccumulatedCopySizeLimit = limit }(jsonpatch.AccumulatedCopySizeLimit)
	for i, node := range list.Content {
		one, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}})
		if err == nil {
			one, err = sigsyaml.YAMLToJSON(one)
		}
		if err != nil {
			return 0, "", ""
		}
		patch, err := jsonpatch.DecodePatch(one)
		if err != nil {
			return 0, "", ""
		}
		if op := operationOf(node).Op; op != "" && !slices.Contains(known, op) {
			_, hint := diag.Unknown("op", op, known)
			return i, "takes no operation " + strconv.Quote(op), hint
		}
		after, err := patch.Apply(text)
		if _, isTooMuch := errors.AsType[*jsonpatch.AccumulatedCopySizeError](err); isTooMuch {
			return i, fmt.Sprintf("would grow by more than %d bytes", maxCopiedBytes), "copy less"
		}
		if err == nil {
			// The limit is of all operations together.
			grown := int64(len(after) - len(text))
			jsonpatch.AccumulatedCopySizeLimit = max(jsonpatch.AccumulatedCopySizeLimit-max(grown, 0), 1)
			text = after
			continue
		}
		var value any
		if json.Unmarshal(text, &value) != nil {
			return 0, "", ""
		}
		problem, hint = explainOperation(value, operationOf(node))
		return i, problem, hint
	}
	return 0, "", ""
}

func operationOf(n *yaml.Node) operation {
	var o operation
	_ = n.Decode(&o) // fields of another type stay empty
	return o
}

// String returns the operation without its value.
func (o operation) String() string {
	if o.From != "" {
		return o.Op + " " + o.From + " to " + o.Path
	}
	return o.Op + " " + o.Path
}

// explainOperation says why an operation cannot be applied to an object, and suggests a correction.
func explainOperation(object any, o operation) (problem, hint string) {
	wanted := cmp.Or(o.From, o.Path)
	there, missing, below := descend(object, wanted)
	isNew := o.From == "" && o.Op == "add"
	switch list, isList := there.value.([]any); {
	case missing == "" && o.Op == "test":
		return "has a different value there", "correct the value, or the path"
	case missing == "":
		return "cannot take it", "correct the path"
	case isList:
		return fmt.Sprintf("has no item %s in %s, which has %d", missing, there.path, len(list)),
			"write an item's number, starting at 0, or - to append one"
	case isNew && below == "":
		return "has no " + there.path + " that can hold it", "correct the path"
	default:
		problem = "has no " + there.path + "/" + missing
	}
	fields, _ := there.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		meant := there.path + "/" + escapePointer(name) + below
		if diag.DidYouMean(missing, []string{name}) != "" && reaches(object, meant, isNew) {
			return problem, "did you mean " + meant + "?"
		}
	}
	if isNew && fields != nil {
		return problem, "add " + there.path + "/" + missing + " first, or correct the path"
	}
	return problem, "correct the path"
}

// reaches reports whether a pointer leads to a value of an object or, if isNew, to a place for a new one.
func reaches(object any, pointer string, isNew bool) bool {
	there, missing, below := descend(object, pointer)
	if missing == "" || !isNew {
		return missing == ""
	}
	list, isList := there.value.([]any)
	_, isMap := there.value.(map[string]any)
	return below == "" && (isMap || isList && (missing == "-" || missing == strconv.Itoa(len(list))))
}

// location is a value in an object, with its JSON pointer.
type location struct {
	path  string
	value any
}

// descend follows a JSON pointer as far as possible. missing is the first step that the object does not have, and
// below the rest of the pointer.
func descend(object any, pointer string) (there location, missing, below string) {
	there.value = object
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		next, found := any(nil), false
		switch value := there.value.(type) {
		case map[string]any:
			next, found = value[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(value) {
				next, found = value[n], true
			}
		}
		if !found {
			for _, rest := range steps[i+1:] {
				below += "/" + rest
			}
			return there, step, below
		}
		there = location{there.path + "/" + step, next}
	}
	return there, "", ""
}

// escapePointer escapes the name of a field for a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// patchBefore returns the patch of an entry, and the kustomization without it and without everything that kustomize
// applies later. The patch has no target if the entry is something else.
func (k *kustomization) patchBefore(field string) (p types.Patch, before types.Kustomization) {
	before = k.Kustomization
	before.NamePrefix, before.NameSuffix, before.Namespace = "", "", ""
	before.Replacements, before.Transformers, before.Validators = nil, nil, nil
	options := types.GeneratorOptions{}
	if k.GeneratorOptions != nil {
		options = *k.GeneratorOptions
	}
	options.DisableNameSuffixHash = true
	before.GeneratorOptions = &options
	//lint:ignore SA1019 kustomize still reads them
	old := k.PatchesJson6902
	for i, p := range k.Patches {
		if field == "patches"+index(i) {
			before.Patches, before.PatchesJson6902 = k.Patches[:i], nil //lint:ignore SA1019 kustomize still reads it
			return p, before
		}
	}
	for i, p := range old {
		if field == "patchesJson6902"+index(i) {
			before.PatchesJson6902 = old[:i] //lint:ignore SA1019 kustomize still reads it
			return p, before
		}
	}
	return types.Patch{}, before
}
