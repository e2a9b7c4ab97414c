package manifest

import (
	"strings"
	"testing"
)

// TestMisspeltAnnotations: an annotation that looks like one of agentry's and is none is a warning.
func TestMisspeltAnnotations(t *testing.T) {
	for _, of := range []struct{ kind, annotation, want string }{
		{"GrafanaAgent", "agentry.dev/runtime", ""},
		{"GrafanaAgent", "agentry.dev/ignore", ""},
		{"GrafanaAgent", "agentry.example.com/owner", ""},
		{"GrafanaAgent", "agentry.dev/runtme", "did you mean agentry.dev/runtime?"},
		{"GrafanaAgent", "agentry.dev/Runtime", "did you mean agentry.dev/runtime?"},
		{"GrafanaAgent", "agentry.io/runtime", "did you mean agentry.dev/runtime?"},
		{"GrafanaAgent", "agenty.dev/runtime", "did you mean agentry.dev/runtime?"},
		{"MetricsInstance", "agentry.dev/ignored", "did you mean agentry.dev/ignore?"},
		{"MetricsInstance", "agentry.dev/runtime", ""}, // which another warning is about
		{"MetricsInstance", "agentry.dev/colour", "agentry reads only agentry.dev/ignore and agentry.dev/runtime"},
	} {
		text := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: " + of.kind +
			"\nmetadata: {name: a, namespace: b, annotations: {" + of.annotation + ": x}}\nspec: {}\n"
		found := Parse(File{Path: "a.yaml", Data: []byte(text)}, Options{}).Diags
		got := ""
		for _, d := range found {
			if strings.HasPrefix(d.Path, "metadata.annotations") {
				got = d.Hint
			}
		}
		if got != of.want || found.HasErrors() {
			t.Errorf("%s %s: %q", of.kind, of.annotation, found)
		}
	}
}
