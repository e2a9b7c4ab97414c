package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/kustomize"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/expression"
)

// merge is a patch: a strategic merge patch, or a JSON patch.
type merge struct {
	target *target
	parts  []part // several only without a target
}

// part is one document of a patch. Without a target it is for the object that it names.
type part struct {
	of     resid.ResId
	plugin *builtins.PatchTransformerPlugin
}

// target selects objects.
type target struct {
	selector types.Selector
	names    *types.SelectorRegex
}

const mergeHint = "begin it with apiVersion, kind and metadata.name, or with a dash for the operations of a JSON patch"

// newMerge reads a patch.
func newMerge(p Patch) (*merge, *diag.Diagnostic) {
	out := &merge{}
	if p.Target != nil {
		var err *diag.Diagnostic
		if out.target, err = newTarget(*p.Target); err != nil {
			return nil, err
		}
	}
	var value any
	text := strings.TrimSpace(p.Patch)
	switch err := yaml.Unmarshal([]byte(firstDocument(text)), &value); {
	case text == "":
		return nil, invalid(".patch", "is required", mergeHint)
	case err != nil:
		return nil, badYAML(err)
	}
	if operations, ok := value.([]any); ok {
		return out, out.addOperations(text, operations)
	}
	docs, err := factory().SliceFromBytes([]byte(text))
	switch {
	case err != nil || len(docs) == 0:
		return nil, invalid(".patch", "is neither a strategic merge patch nor a JSON patch", mergeHint)
	case len(docs) > 1 && out.target != nil:
		return nil, invalid(".patch",
			fmt.Sprintf("has %d documents, and with a target there can only be one", len(docs)),
			"write one entry for each")
	}
	for _, doc := range docs {
		if err := out.addDocument(doc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// firstDocument returns the first document of a stream.
func firstDocument(text string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---")
	return first
}

// badYAML is the error about a patch that is not YAML.
func badYAML(err error) *diag.Diagnostic {
	message, hint := diag.YAMLProblem(strings.TrimPrefix(brief(err), "error converting YAML to JSON: yaml: "))
	return invalid(".patch", "is not valid YAML: "+message, hint)
}

// addOperations adds a JSON patch.
func (m *merge) addOperations(text string, operations []any) *diag.Diagnostic {
	if m.target == nil {
		return invalid(".target", "is required for a JSON patch",
			"name the objects by kind, name, namespace or labelSelector")
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return badYAML(err)
	}
	ops, err := jsonpatch.DecodePatch(data)
	if err != nil || len(operations) == 0 {
		return invalid(".patch", "is not a list of operations", "write each with op, path and value")
	}
	known := []string{"add", "remove", "replace", "move", "copy", "test"}
	for i, o := range ops {
		if !slices.Contains(known, o.Kind()) {
			message, hint := diag.Unknown("op", o.Kind(), known)
			return invalid(".patch", fmt.Sprintf("operation %d: %s", i+1, message), hint)
		}
		if path, err := o.Path(); err != nil || !strings.HasPrefix(path, "/") {
			return invalid(".patch", fmt.Sprintf("operation %d: path must begin with /", i+1),
				"write it like /spec/template/spec/priorityClassName")
		}
	}
	return m.add(part{}, text)
}

// addDocument adds a strategic merge patch.
func (m *merge) addDocument(doc *resource.Resource) *diag.Diagnostic {
	text, err := doc.AsYAML()
	if err != nil {
		return invalid(".patch", "cannot be read", mergeHint)
	}
	return m.add(part{of: doc.OrgId()}, string(text))
}

func (m *merge) add(p part, text string) *diag.Diagnostic {
	p.plugin = &builtins.PatchTransformerPlugin{}
	config, err := json.Marshal(map[string]string{"patch": text})
	if err == nil {
		deps := provider.NewDefaultDepProvider()
		err = p.plugin.Config(resmap.NewPluginHelpers(nil, deps.GetFieldValidator(),
			resmap.NewFactory(deps.GetResourceFactory()), types.DisabledPluginConfig()), config)
	}
	if err != nil {
		return invalid(".patch", "is neither a strategic merge patch nor a JSON patch", mergeHint)
	}
	if m.target != nil {
		p.plugin.Target = &types.Selector{} // it is given what matches, and nothing else
	}
	m.parts = append(m.parts, p)
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
	id := object.Resources()[0].CurId()
	for _, p := range m.parts {
		if m.target == nil && !p.of.Equals(id) {
			continue
		}
		if err := p.plugin.Transform(object); err != nil {
			return true, fmt.Errorf("cannot be applied: %w", err)
		}
		if isGone(object) {
			break
		}
	}
	return true, nil
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
