package pipelinefile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSetGivesTexts: what looks like a number or a boolean is a text where the field is one.
func TestSetGivesTexts(t *testing.T) {
	fields := map[string]any{"spec": map[string]any{"limits": map[string]any{"allowEmpty": false}}}
	got, err := Set(fields, []string{
		"metadata.name=2024", "spec.output.branch=2024", "spec.operator.labels.x=true",
		"spec.namespaces.shop.year=2024",
		"spec.limits.allowEmpty=true", "spec.sources[0].paths={1,true}", "spec.workloads[0].replicas=2"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"name": "2024"}, "spec": map[string]any{
		"output":     map[string]any{"branch": "2024"},
		"operator":   map[string]any{"labels": map[string]any{"x": "true"}},
		"namespaces": map[string]any{"shop": map[string]any{"year": "2024"}},
		"limits":     map[string]any{"allowEmpty": true},
		"sources":    []any{map[string]any{"paths": []any{"1", "true"}}},
		"workloads":  []any{map[string]any{"replicas": int64(2)}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"spec.=x", "spec=x", "spec", "spec..=x", "runtime=alloy"} {
		if _, err := Set(map[string]any{}, []string{wrong}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
