package kustomize

import (
	"cmp"
	"encoding/json"
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

// failedOperation returns the error about the operation of a JSON patch that does not fit an object, for the entry of a
// kustomization that makes its build fail. It is nil if the entry is another one, or if the operation is not found.
func (b *blame) failedOperation(f *file, folder, field string) error {
	p, n, before := f.patchBefore(field)
	if p.Target == nil {
		return nil
	}
	file, text := "", []byte(p.Patch)
	if p.Path != "" {
		file = path.Join(folder, p.Path)
		text = textOf(b.checker, file)
	}
	var list *yaml.Node
	for list = range documents(text) {
		break
	}
	var objects []*resource.Resource
	var err error
	if tried := b.try(f, folder, before, func(built resmap.ResMap) {
		objects, err = built.Select(*p.Target)
	}); tried != nil {
		return nil
	}
	if err != nil || list == nil || list.Kind != yaml.SequenceNode ||
		list.Style&yaml.FlowStyle != 0 && !json.Valid(text) {
		return nil
	}
	for _, object := range objects {
		i, problem, hint := failing(object, list)
		if problem == "" {
			continue
		}
		name := object.GetKind() + "/" + cmp.Or(object.GetNamespace(), f.Namespace) + "/" + object.GetName()
		d := diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, Hint: hint}
		at, entry := list.Content[i], field
		asked := n - (len(f.Patches) - len(b.wanted.Change.Patches))
		switch inline := f.written(field + ".patch"); {
		case file != "":
			d.File, d.Line, d.Column = file, at.Line, at.Column
		case inline != nil && inline.Style&yaml.LiteralStyle != 0:
			d.File, d.Line = f.name, inline.Line+at.Line
		case inline != nil:
			d.File, d.Line, d.Column = f.name, inline.Line, inline.Column
		case b.wanted.Find != nil && f == b.files[b.wanted.Folder] && asked >= 0:
			entry = "patches" + index(asked)
			d.File, d.Line, d.Column = b.wanted.Find(entry)
		default:
			d.File = f.name
		}
		d.Message = fmt.Sprintf("%s, operation %d (%s): %s %s", entry, i+1, operationOf(at),
			strings.Replace(name, "//", "/", 1), problem)
		return &d
	}
	return nil
}

// failing returns the first operation that an object does not take, and why.
func failing(object *resource.Resource, list *yaml.Node) (i int, problem, hint string) {
	known := []string{"add", "remove", "replace", "move", "copy", "test"}
	text, err := object.MarshalJSON()
	if err != nil {
		return 0, "", ""
	}
	for i, node := range list.Content {
		one, err := sigsyaml.YAMLToJSON([]byte(marshalNode(&yaml.Node{Kind: yaml.SequenceNode,
			Content: []*yaml.Node{node}})))
		if err != nil {
			return 0, "", ""
		}
		patch, err := jsonpatch.DecodePatch(one)
		if err != nil {
			return 0, "", ""
		}
		if op := operationOf(node).Op; op != "" && !slices.Contains(known, op) {
			return i, "takes no operation " + strconv.Quote(op), cmp.Or(diag.DidYouMean(op, known),
				"use "+strings.Join(known, ", "))
		}
		after, err := patch.Apply(text)
		if err == nil {
			text = after
			continue
		}
		var value any
		if json.Unmarshal(text, &value) != nil {
			return 0, "", ""
		}
		problem, hint = misfit(value, operationOf(node))
		return i, problem, hint
	}
	return 0, "", ""
}

func operationOf(n *yaml.Node) operation {
	var o operation
	_ = n.Decode(&o) // fields of another type name no path
	return o
}

// String returns the operation without its value.
func (o operation) String() string {
	if o.From != "" {
		return o.Op + " " + o.From + " to " + o.Path
	}
	return o.Op + " " + o.Path
}

// misfit says why an operation does not fit an object, and what it may mean instead.
func misfit(object any, o operation) (problem, hint string) {
	wanted := cmp.Or(o.From, o.Path)
	there, missing, below := descend(object, wanted)
	isNew := o.From == "" && o.Op == "add"
	switch list, isList := there.value.([]any); {
	case missing == "" && o.Op == "test":
		return "has another value there", "correct the value, or the path"
	case missing == "":
		return "cannot take it", "correct the path"
	case isList:
		return fmt.Sprintf("has no item %s in %s, which has %d", missing, there.path, len(list)),
			"write the number of an item, from 0 on, or - to add one at the end"
	case isNew && below == "":
		return "has no " + there.path + " that can hold it", "correct the path"
	default:
		problem = "has no " + there.path + "/" + missing
	}
	fields, _ := there.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		meant := there.path + "/" + escaped(name) + below
		if diag.DidYouMean(missing, []string{name}) != "" && reaches(object, meant, isNew) {
			return problem, "did you mean " + meant + "?"
		}
	}
	if isNew && fields != nil {
		return problem, "add " + there.path + "/" + missing + " first, or correct the path"
	}
	return problem, "correct the path"
}

// reaches reports whether an object has what a pointer names or, if that is new, can hold it.
func reaches(object any, pointer string, isNew bool) bool {
	there, missing, below := descend(object, pointer)
	if missing == "" || !isNew {
		return missing == ""
	}
	list, isList := there.value.([]any)
	_, isMap := there.value.(map[string]any)
	return below == "" && (isMap || isList && (missing == "-" || missing == strconv.Itoa(len(list))))
}

// pointed is a value in an object, with its JSON pointer.
type pointed struct {
	path  string
	value any
}

// descend follows a JSON pointer as far as the object has it. missing is the first step that the object does not have,
// and below what follows it.
func descend(object any, pointer string) (there pointed, missing, below string) {
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
		there = pointed{there.path + "/" + step, next}
	}
	return there, "", ""
}

// escaped returns the name of a field as a JSON pointer writes it.
func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// patchBefore returns the patch of an entry with its number, and the kustomization without it and all that comes after
// it. The patch has no target if the entry is something else.
func (f *file) patchBefore(field string) (p types.Patch, n int, before types.Kustomization) {
	before = f.Kustomization
	before.NamePrefix, before.NameSuffix, before.Namespace = "", "", ""
	before.Replacements, before.Transformers, before.Validators = nil, nil, nil
	options := types.GeneratorOptions{}
	if f.GeneratorOptions != nil {
		options = *f.GeneratorOptions
	}
	options.DisableNameSuffixHash = true
	before.GeneratorOptions = &options
	//lint:ignore SA1019 kustomize still reads them
	old := f.PatchesJson6902
	for i, p := range f.Patches {
		if field == "patches"+index(i) {
			before.Patches, before.PatchesJson6902 = f.Patches[:i], nil //lint:ignore SA1019 kustomize still reads it
			return p, i, before
		}
	}
	for i, p := range old {
		if field == "patchesJson6902"+index(i) {
			before.PatchesJson6902 = old[:i] //lint:ignore SA1019 kustomize still reads it
			return p, i, before
		}
	}
	return types.Patch{}, 0, before
}
