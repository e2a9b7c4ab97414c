package manifest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestAppliedDocumentsAreNotPassedThrough: what somebody else applies is read as before, and copied never.
func TestAppliedDocumentsAreNotPassedThrough(t *testing.T) {
	text := []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: m}\n---\napiVersion: v1\n" +
		"kind: ConfigMap\nmetadata: {name: a, namespace: m}\n")
	for _, applied := range []bool{false, true} {
		docs := []manifest.Built{{Text: text, Applied: applied},
			{Text: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: m}\n")}}
		r := manifest.ParseBuilt(manifest.File{Path: "root"}, docs,
			manifest.Options{PassThrough: "ConfigMap.,ServiceAccount."})
		var passed []string
		for _, o := range r.Objects {
			if o.IsPassed {
				passed = append(passed, o.ID.String())
			}
		}
		if want := map[bool]int{false: 3, true: 1}[applied]; len(passed) != want || len(r.Diags) > 0 {
			t.Errorf("applied: %t, passed through: %v, found %v", applied, passed, r.Diags)
		}
	}
}

// TestUnknownFieldsThatArePassedThrough: where unknown fields are not errors, a copy has them.
func TestUnknownFieldsThatArePassedThrough(t *testing.T) {
	text := []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: m}\nspec: {prots: [1]}\n")
	r := manifest.Parse(manifest.File{Path: "a.yaml", Data: text},
		manifest.Options{PassThrough: "Service.", UnknownFields: manifest.IgnoreUnknownFields})
	if len(r.Diags) != 1 || !strings.HasSuffix(r.Diags[0].Message, "unknown field, it is passed through") ||
		r.Diags.HasErrors() {
		t.Errorf("found %v", r.Diags)
	}
	if len(r.Objects) != 1 || !strings.Contains(string(r.Objects[0].Passed()), "prots:") {
		t.Errorf("objects: %+v", r.Objects)
	}
}

// TestConvert holds that a wrong field is named with its path, and that no number is cut.
func TestConvert(t *testing.T) {
	for name, test := range map[string]struct {
		spec       map[string]any
		want, hint string
	}{
		"a misspelt field": {map[string]any{"replicas": 1, "replicass": 2}, "spec.replicass: unknown field",
			"did you mean replicas?"},
		"another case": {map[string]any{"Replicas": 2}, "spec.Replicas: unknown field", "did you mean replicas?"},
		"in a list": {
			map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "a", "imag": "b"}}}}},
			"spec.template.spec.containers[0].imag: unknown field", "did you mean image?"},
		"a text": {map[string]any{"replicas": "two"}, "spec.replicas: must be a whole number, is a string", ""},
		"a boolean in place of a text": {
			map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{
				"a": true}}}},
			"spec.template.metadata.annotations: must be a string, is a boolean", "quote it"},
		"a number too large": {map[string]any{"replicas": 1 << 32},
			"spec.replicas: must be a whole number of 32 bits", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := manifest.Convert(map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": test.spec},
				&appsv1.StatefulSet{})
			if len(found) != 1 || found[0].Problem() != test.want || found[0].Hint != test.hint {
				t.Errorf("%+v", found)
			}
		})
	}
}
