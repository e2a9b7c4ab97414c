package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/expression"
)

// merge is a patch: strategic merge patches, or one JSON patch.
type merge struct {
	target *target
	// parts are documents: several only without a target, when each is for the object that it names.
	parts      []part
	operations operations
}

// part is a strategic merge patch.
type part struct {
	of    resid.ResId
	patch *resource.Resource
}

// target selects objects.
type target struct {
	selector types.Selector
	names    *types.SelectorRegex
}

const mergeHint = "begin it with apiVersion, kind and metadata.name, or with a dash for the operations of a JSON patch"

var errNoPatch = errors.New("is neither a strategic merge patch nor a JSON patch")

// newMerge reads a patch.
func newMerge(p Patch) (*merge, *diag.Diagnostic) {
	out := &merge{}
	if p.Target != nil {
		var err *diag.Diagnostic
		if out.target, err = newTarget(*p.Target); err != nil {
			return nil, err
		}
	}
	docs, wrong := manifest.Values(p.Patch)
	switch {
	case strings.TrimSpace(p.Patch) == "":
		return nil, invalid(".patch", "is required", mergeHint)
	case len(wrong) > 0:
		err := invalid(".patch", wrong[0].Message, wrong[0].Hint)
		err.Line, err.Column = wrong[0].Line, max(wrong[0].Column, 1)
		return nil, err
	case len(docs) == 0:
		return nil, invalid(".patch", errNoPatch.Error(), mergeHint)
	}
	list, isList := docs[0].Content.([]any)
	switch {
	case isList && out.target == nil:
		return nil, invalid(".target", "is required for a JSON patch",
			"name the objects by kind, name, namespace or labelSelector")
	case len(docs) > 1 && (isList || out.target != nil):
		why := "with a target there can only be one"
		if isList {
			why = "a JSON patch is one"
		}
		return nil, in(docs[1], "", fmt.Sprintf("has %d documents, and %s", len(docs), why),
			"write one entry for each")
	case isList:
		var err *diag.Diagnostic
		out.operations, err = newOperations(docs[0], list)
		return out, err
	}
	for _, doc := range docs {
		if err := out.add(doc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// in returns what is wrong with the field at path of a document of a patch.
func in(doc manifest.Value, path, message, hint string) *diag.Diagnostic {
	d := invalid(".patch", message, hint)
	d.Line, d.Column = doc.Find(path)
	return d
}

// add adds a strategic merge patch, or the patches of a List. kustomize makes its nodes of the value.
func (m *merge) add(doc manifest.Value) *diag.Diagnostic {
	fields, _ := doc.Content.(map[string]any)
	kind, _ := fields["kind"].(string)
	if !strings.HasSuffix(kind, "List") || fields["items"] == nil {
		return m.addObject(doc, "", doc.Content)
	}
	objects, _ := fields["items"].([]any)
	switch {
	case len(objects) == 0:
		return in(doc, "items", "items is not a list of patches", diag.WriteList)
	case len(objects) > 1 && m.target != nil:
		return in(doc, "items", fmt.Sprintf("has %d items, and with a target there can only be one", len(objects)),
			"write one entry for each")
	}
	for i, object := range objects {
		if err := m.addObject(doc, fmt.Sprintf("items[%d]", i), object); err != nil {
			return err
		}
	}
	return nil
}

// addObject adds the strategic merge patch at a path of the document.
func (m *merge) addObject(doc manifest.Value, path string, object any) *diag.Diagnostic {
	var patch *resource.Resource
	err := errNoPatch
	if fields, _ := object.(map[string]any); len(fields) > 0 {
		patch, err = factory().FromMap(fields)
	}
	if err == nil {
		_, err = patch.GetValidatedMetadata()
	}
	if err != nil {
		return in(doc, path, errNoPatch.Error(), mergeHint)
	}
	m.parts = append(m.parts, part{patch.OrgId(), patch})
	return nil
}

func newTarget(s kustomize.Selector) (*target, *diag.Diagnostic) {
	for _, f := range [...][2]string{{"group", s.Group}, {"version", s.Version}, {"kind", s.Kind}, {"name", s.Name},
		{"namespace", s.Namespace}} {
		if err := expression.Check(f[1]); err != nil {
			return nil, invalid(".target."+f[0], "is not a regular expression: "+brief(err), "")
		}
	}
	for _, f := range [...][2]string{{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector}} {
		if _, err := labels.Parse(f[1]); err != nil {
			return nil, invalid(".target."+f[0], brief(err), "write it like agentry.dev/workload=metrics")
		}
	}
	out := &target{selector: types.Selector{
		ResId: resid.ResId{Gvk: resid.Gvk{Group: s.Group, Version: s.Version, Kind: s.Kind}, Name: s.Name,
			Namespace: s.Namespace},
		AnnotationSelector: s.AnnotationSelector, LabelSelector: s.LabelSelector,
	}}
	var err error
	if out.names, err = types.NewSelectorRegex(&out.selector); err != nil {
		return nil, invalid(".target", brief(err), "")
	}
	return out, nil
}

func (m *merge) mayMatch(id resid.ResId) bool {
	if t := m.target; t != nil {
		return t.names.MatchGvk(id.Gvk) && t.names.MatchName(id.Name) && t.names.MatchNamespace(id.EffectiveNamespace())
	}
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.of.Equals(id) })
}

func (m *merge) apply(object resmap.ResMap) (matches bool, err error) {
	if m.target != nil {
		selected, err := object.Select(m.target.selector)
		if err != nil || len(selected) == 0 {
			return false, err
		}
	}
	if len(m.operations.patch) > 0 {
		return true, m.operations.apply(object.Resources()[0])
	}
	id := object.Resources()[0].CurId()
	for _, p := range m.parts {
		if m.target == nil && !p.of.Equals(id) {
			continue
		}
		if err := p.apply(object, m.target != nil); err != nil {
			return true, fmt.Errorf("cannot be applied: %w", err)
		}
		if isGone(object) {
			break
		}
	}
	return true, nil
}

// apply applies the patch to the only object of a list, as kustomize's plugin does, which takes patches only as text.
// Merging shares the nodes of a patch with the object, so it gets a copy.
func (p part) apply(object resmap.ResMap, toAny bool) error {
	if toAny { // the patch can have another kind than the object
		return object.ApplySmPatch(resource.MakeIdSet(object.Resources()), p.patch)
	}
	return object.Resources()[0].ApplySmPatch(p.patch.DeepCopy())
}

func (m *merge) similar() string {
	kinds := []string{"StatefulSet", "DaemonSet", "Deployment", "Service", "Secret", "PodDisruptionBudget"}
	if m.target != nil {
		if kind := m.target.selector.Kind; !slices.Contains(kinds, kind) {
			return diag.DidYouMean(kind, kinds)
		}
		return "agentry render prints the objects, with their labels"
	}
	for _, p := range m.parts {
		if p.of.Namespace == "" {
			return "add metadata.namespace to the patch, or give it a target"
		}
	}
	return "agentry render prints the objects, with their names"
}
