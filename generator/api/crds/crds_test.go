package crds

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllHoldsEveryKind(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, c := range all {
		kinds = append(kinds, c.Kind)
		if definition, err := c.decode(); err != nil {
			t.Errorf("%s: %v", c.File, err)
		} else if definition.Spec.Names.Kind != c.Kind {
			t.Errorf("%s: kind %q, want %q", c.File, c.Kind, definition.Spec.Names.Kind)
		}
	}
	want := []string{
		"PodMonitor", "Probe", "ScrapeConfig", "ServiceMonitor", "GrafanaAgent", "IntegrationMonitor", "Integration",
		"LogsInstance", "MetricsInstance", "MetricsIntegration", "PodLogs",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestFindTakesKindsAndPlurals(t *testing.T) {
	for _, name := range []string{"PodLogs", "podlogs", "servicemonitors", "SERVICEMONITOR"} {
		if _, err := Find(name); err != nil {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	if _, err := Find("Pod"); err == nil {
		t.Error("Find(Pod): no error")
	}
}

func TestJSONSchema(t *testing.T) {
	c, err := Find("PodLogs")
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema     string         `json:"$schema"`
		Required   []string       `json:"required"`
		GVK        []any          `json:"x-kubernetes-group-version-kind"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != draft || len(got.GVK) != 1 {
		t.Errorf("$schema %q, group-version-kinds %v", got.Schema, got.GVK)
	}
	if diff := cmp.Diff([]string{"apiVersion", "kind", "metadata"}, got.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	apiVersion := map[string]any{"type": "string", "const": "monitoring.grafana.com/v1alpha1"}
	delete(got.Properties["apiVersion"].(map[string]any), "description")
	if diff := cmp.Diff(apiVersion, got.Properties["apiVersion"]); diff != "" {
		t.Errorf("apiVersion (-want +got):\n%s", diff)
	}
	spec := got.Properties["spec"].(map[string]any)
	if spec["additionalProperties"] != false {
		t.Error("spec takes unknown fields")
	}
	relabelings := spec["properties"].(map[string]any)["relabelings"].(map[string]any)
	action := relabelings["items"].(map[string]any)["properties"].(map[string]any)["action"]
	if got := action.(map[string]any)["default"]; got != "replace" {
		t.Errorf("default of action is %v", got)
	}
}

func TestEveryJSONSchemaIsMade(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if _, err := c.JSONSchema(); err != nil {
			t.Errorf("%s: %v", c.Kind, err)
		}
	}
}
