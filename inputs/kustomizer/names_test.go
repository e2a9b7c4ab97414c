package kustomizer

import "testing"

// TestHasReferred: whatever can be an object that others refer to is found, however its kind is written.
func TestHasReferred(t *testing.T) {
	for text, want := range map[string]bool{
		"apiVersion: v1\nkind: Secret\n":                 true,
		`{"apiVersion":"v1","kind":"ConfigMap"}`:         true,
		"kind:\n  Secret\n":                              true,
		"'kind' : 'ServiceAccount'\n":                    true,
		"kind: ServiceMonitor\nspec: {secret: Secret}\n": false,
		"kind: SecretStore\n":                            false,
	} {
		if got := HasReferred([]byte(text)); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}
