package pipelinefile

import "testing"

func TestWhatIsMeantAsAPipelineFile(t *testing.T) {
	const function = "metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: agentry}'}}\n"
	for text, want := range map[string]bool{
		"":                    true,
		"# nothing yet\n":     true,
		"a: [b":               true,
		"spec: {sources: []}": true,
		"kind: Pipeline\n":    true,
		"apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\n":                                                 true,
		"apiVersion: agentry.de/v1alpha1\nkind: Pipeline\n":                                                  true,
		"apiVersion: agentry.io/v1alpha1\nkind: Pipeline\n":                                                  true,
		"apiVersion: Agentry.Dev/v1alpha1\nkind: Pipeline\n":                                                 true,
		"apiVersion: agenty.dev/v1alpha1\nkind: Pipeline\n":                                                  true,
		"apiVersion: v1alpha1\nkind: pipeline\n":                                                             true,
		"kind: Pipelin\nmetadata: {name: a}\n":                                                               true,
		"apiVersion: tekton.dev/v1\nkind: Pipeline\n---\napiVersion: agentry.dev/v1alpha1\nkind: Pipeline\n": true,

		"apiVersion: tekton.dev/v1\nkind: Pipeline\n":                   false,
		"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\n":            false,
		"apiVersion: v1\nkind: ConfigMap\n":                             false,
		"trigger: [main]\nsteps: []\n":                                  false,
		"- hosts: all\n":                                                false,
		"apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\n" + function: false,
	} {
		if got := IsMeant([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestWhatIsMeantIsAnErrorUnlessItIsOne: what counts as a pipeline file and is none is told.
func TestWhatIsMeantIsAnErrorUnlessItIsOne(t *testing.T) {
	for _, text := range []string{"", "a: [b", "spec: {}", "apiVersion: agentry.de/v1alpha1\nkind: Pipeline\n",
		"apiVersion: Agentry.Dev/v1alpha1\nkind: Pipeline\n", "kind: pipeline\n"} {
		if _, found := Parse("pipeline.yaml", []byte(text)); !found.HasErrors() {
			t.Errorf("%q is accepted", text)
		}
	}
}
