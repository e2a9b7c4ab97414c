package manifest

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/stagehint"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// unknownField is the message about a field that the object's kind does not have.
const unknownField = "unknown field"

// IgnoreUnknownFields returns the result with unknown fields as warnings, in the objects for which the function
// returns true; nil means in all. Objects that were left out for nothing else are then among the result's objects,
// without these fields. Versions that were rendered while unknown fields were no errors are read like this.
func (r Result) IgnoreUnknownFields(of func(*Object) bool) Result {
	ignored, copied := map[diag.Object]bool{}, map[diag.Object]bool{}
	all := r.LeftOut
	r.Objects, r.LeftOut, r.Invalid, r.Diags = slices.Clone(r.Objects), nil, nil, slices.Clone(r.Diags)
	for _, o := range all {
		ignored[o.Ref()], copied[o.Ref()] = of == nil || of(o), o.IsPassed
		if ignored[o.Ref()] && o.HasValue {
			r.Objects = append(r.Objects, o)
		} else {
			r.LeftOut, r.Invalid = append(r.LeftOut, o), append(r.Invalid, o.ID)
		}
	}
	for i, d := range r.Diags {
		if d.Code != diag.UnknownField || !ignored[d.Object] {
			continue
		}
		r.Diags[i].Severity = diag.Warning
		switch {
		case !strings.HasSuffix(d.Message, unknownField):
		case copied[d.Object]:
			r.Diags[i].Message += ", it is passed through"
		default:
			r.Diags[i].Message += ", it is ignored"
		}
	}
	return r
}

// Usable yields the objects, and those that are left out only for unknown fields: without these they can be used.
func (r Result) Usable() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, o := range r.Objects {
			if !yield(o) {
				return
			}
		}
		for _, o := range r.LeftOut {
			if o.HasValue && !yield(o) {
				return
			}
		}
	}
}

// IsUsable reports whether an object is one of [Result.Usable].
func (r Result) IsUsable(o *Object) bool {
	return slices.Contains(r.Objects, o) || o.HasValue && slices.Contains(r.LeftOut, o)
}

// unknownFields reports fields that a schema does not know. If a parent has the wrong type, all fields below it
// are unknown, and only the wrong type is reported.
func (r *crdReader) unknownFields(paths []string, mistyped map[string]bool) {
	stages := stageNames(r.schema)
	var fields, unknownStages, unsure int
	for _, path := range paths {
		if isBelow(path, mistyped) {
			continue
		}
		// more than are reported
		name, direct, sure := stageName(r.kind, path, stages)
		if !sure && unsure < MaxFindings {
			unsure++
			key, _, found := r.at.find(path)
			direct = found && key != nil && key.Value == name
		}
		if direct {
			if unknownStages++; unknownStages <= MaxFindings+1 {
				r.unknownStage(path, name, stages)
			}
			continue
		}
		if fields++; fields <= MaxFindings+1 && !r.valueAsKey(path) {
			last := path[strings.LastIndexAny(path, ".]")+1:]
			r.unknownField(r.at, path, last, r.schema.Siblings(path))
			r.suggestPlace(path, last)
		}
	}
}

// maxPlaces is the largest number of places that a hint names.
const maxPlaces = 3

// suggestPlace adds a hint to the last finding if the field is known elsewhere, in the object's kind or in another one,
// and no name beside it is like it.
func (r *crdReader) suggestPlace(path, name string) {
	f := &r.findings[len(r.findings)-1]
	if hint := ofNamespaces(path, name); hint != "" {
		f.Hint = hint
		return
	}
	isResource := newValue(r.apiVersion, r.kind) != nil
	if f.Hint != "" && (f.Hint != diag.Fields(r.schema.Siblings(path)) || !isResource) {
		return
	}
	places := slices.DeleteFunc(slices.Clone(r.schema.Places(name)), func(p string) bool { return p == "" })
	if len(places) > 0 && len(places) <= maxPlaces {
		f.Hint = "it belongs to " + strings.Join(places, " or ")
		return
	}
	if others := schema.With(name); isResource && len(others) > 0 && len(others) <= maxPlaces {
		f.Hint = "it belongs to spec of " + strings.Join(others, " or ") + ", not of " + r.kind
	}
}

// ofNamespaces returns the hint for a field that the namespaceSelector of a monitor has, in the selector of an
// instance.
func ofNamespaces(path, name string) string {
	parent := strings.ToLower(strings.TrimSuffix(path, "."+name))
	if !strings.HasSuffix(parent, "namespaceselector") ||
		strings.HasSuffix(parent, ".namespaceselector") && name != "any" {
		return ""
	}
	switch name {
	case "any":
		return `"any" is of ServiceMonitor.spec.namespaceSelector; here write {} for all namespaces`
	case "matchNames":
		return `"matchNames" is of ServiceMonitor.spec.namespaceSelector; here write matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [NAME]}]`
	}
	return ""
}

// valueAsKey reports a key without a value where credentials stand: {hunter2} is a key to YAML. The finding does not
// name it.
func (r *crdReader) valueAsKey(path string) bool {
	parent := path[:max(strings.LastIndexByte(path, '.'), 0)]
	if diag.MayQuote(parent, "") {
		return false
	}
	_, node, found := r.at.find(path)
	if !found || node.ShortTag() != "!!null" {
		return false
	}
	r.fail(diag.UnknownField, parent, "a key without a value is an "+unknownField,
		"write the field's name, a colon and the value")
	return true
}

// misspelt reports whether a required field is there under a wrong name. Then the unknown field is one error that
// says both, and that cannot be ignored.
func (r *crdReader) misspelt(path string) bool {
	dot := strings.LastIndexByte(path, '.')
	parent, name := path[:max(dot, 0)], path[dot+1:]
	for i := range r.findings {
		f := &r.findings[i]
		if f.Code == diag.UnknownField && f.Path[:max(strings.LastIndexByte(f.Path, '.'), 0)] == parent &&
			f.Hint == diag.DidYouMean(name, []string{name}) {
			f.Code, f.Message = diag.InvalidField, unknownField+", and "+name+" is required"
			return true
		}
	}
	return false
}

// isBelow reports whether a path is below one of a set of paths.
func isBelow(path string, above map[string]bool) bool {
	if len(above) == 0 {
		return false
	}
	for i := range len(path) {
		if (path[i] == '.' || path[i] == '[') && above[path[:i]] {
			return true
		}
	}
	return false
}

// stageForm matches the path of a stage of a PodLogs.
const stageForm = `^spec\.pipelineStages\[[0-9]+\]`

var stagePattern = lazyregexp.New(stageForm)

// stageName returns the name of the pipeline stage that an unknown field is in. direct is true if the field is
// the stage itself, not a setting of it. sure is false if the stage's name would contain a dot: drop.x is
// either the setting x of drop or a stage with that name.
func stageName(kind, path string, known []string) (name string, direct, sure bool) {
	stage := stagePattern.FindString(path)
	name, direct = strings.CutPrefix(path[len(stage):], ".")
	if kind != v1alpha1.PodLogsKind || stage == "" || !direct {
		return "", false, true
	}
	for _, k := range known {
		if rest, fits := cutKey(name, k); fits && rest != "" {
			return name, false, false
		}
	}
	return name, true, true
}

// stageNames returns the names of the stages that a PodLogs can have.
func stageNames(kind *schema.Kind) []string { return kind.Siblings("spec.pipelineStages[0].name") }

// unknownStage reports an unknown stage. It is an error: a cluster would drop the stage, and every line would
// go through the pipeline without it.
func (r *crdReader) unknownStage(path, name string, known []string) {
	r.fail(diag.UnknownStageField, path, "unknown stage", stagehint.Unknown(name, known))
}
