package generator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

// TestValuesAreWhatIsPrinted holds the values of a configuration to what the agent reads in its text, for all
// conformance cases and examples and for fixtures that are edited at random.
func TestValuesAreWhatIsPrinted(t *testing.T) {
	held := 0
	for name, out := range corpusAndExamples(t, agentruntime.Runtime()) {
		held += holdValues(t, name, out)
	}
	for seed := range int64(share(20 * seeds)) {
		w := newFixture(seed)
		for range 6 {
			edit := w.edit()
			for _, policy := range policies() {
				held += holdValues(t, edit, renderAll(w.parse(),
					generator.Options{Secrets: policy, Compatibility: manifest.Current}))
			}
		}
	}
	agent, monitors := fleet(20)
	held += holdValues(t, "fleet",
		generator.Render(loadAll(append([]manifest.File{agent}, monitors...)),
			generator.Options{Secrets: secretref.Plaintext}, nil))
	if held < share(150) {
		t.Errorf("only %d configurations were compared", held)
	}
}

// holdValues compares the configurations of a render with their texts, and returns how many there are.
func holdValues(t *testing.T, name string, out *generator.Output) (held int) {
	t.Helper()
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Config == nil {
				continue
			}
			held++
			var want any
			if err := yaml.Unmarshal(workload.Configuration(f.Data), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, expanded(agentruntime.Values(f.Config, false))); d != "" {
				t.Errorf("%s, %s/%s: text -, values +\n%s", name, u.Name, f.Path, d)
			}
		}
	}
	return held
}
