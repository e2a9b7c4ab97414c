package workload

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// output collects the objects of one GrafanaAgent and the findings about them.
type output struct {
	grafanaAgent
	hierarchy *hierarchy.Hierarchy
	checker   checker
	objects   []Object
	diags     diag.List
}

func newOutput(a grafanaAgent, h *hierarchy.Hierarchy) *output {
	return &output{grafanaAgent: a, hierarchy: h, checker: newChecker(a)}
}

// add adds a Secret, which needs no checks.
func (out *output) add(o Object, findings []diag.Finding) {
	out.found(findings)
	out.put(o, &corev1.Secret{})
}

// put applies the pipeline's patches to o and appends it; object has its Go type.
func (out *output) put(o Object, object any) {
	if change := out.options.Change; change != nil {
		var diags diag.List
		before := o.YAML
		o.YAML, diags = change(o.ID, before, func(text []byte) []diag.Finding {
			changed, found := out.recheck(object, text)
			if o.Value != nil {
				o.Value = changed
			}
			return found
		})
		out.diags = append(out.diags, diags...)
		if o.HasText { // it changes nothing but what is before the configuration
			moved := bytes.Count(o.YAML, []byte{'\n'}) - bytes.Count(before, []byte{'\n'})
			for i := range o.Parts {
				o.Parts[i].Line += moved
			}
		}
	}
	out.objects = append(out.objects, o)
}

// config adds the Secret of a configuration, or several if one is too small. set is the name of the first StatefulSet that uses
// it, or "".
func (out *output) config(name, set string, c *model.Config) config {
	printed := out.runtime().Print(c)
	o, inlined, findings := out.configSecret(name, c, &printed)
	if o.YAML == nil {
		return out.folder(name, set, c, &printed)
	}
	out.checkReadable(c, printed.Bytes)
	out.add(o, findings)
	return config{of: c, secret: name, inlined: inlined}
}

// addChecked adds an object and checks it.
func (out *output) addChecked(o any, findings []diag.Finding) {
	out.found(findings)
	id, text, err := encode(o)
	if err != nil {
		out.found([]diag.Finding{{Severity: diag.Error, Code: diag.InvalidObject, Message: "encode: " + err.Error()}})
		return
	}
	out.found(out.checker.check(o))
	out.put(Object{ID: id, Value: o, YAML: text}, o)
}

func (out *output) found(findings []diag.Finding) {
	for _, f := range findings {
		out.diags = append(out.diags, out.Found(f))
	}
}

// encode encodes an object with sorted keys, without the fields that only the API server sets.
func encode(o any) (manifest.ID, []byte, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return manifest.ID{}, nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return manifest.ID{}, nil, err
	}
	prune(m)
	meta := m["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string) // a ClusterRole has none
	id := manifest.ID{Kind: m["kind"].(string), Namespace: namespace, Name: meta["name"].(string)}
	text, err := yaml.Marshal(m)
	return id, text, err
}

// prune removes the status, which Kubernetes' types always encode and only the cluster sets.
func prune(object map[string]any) {
	delete(object, "status")
	spec, _ := object["spec"].(map[string]any)
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for _, c := range claims {
		if claim, ok := c.(map[string]any); ok {
			delete(claim, "status")
		}
	}
}
