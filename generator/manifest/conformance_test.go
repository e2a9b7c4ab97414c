package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const corpus = "../../test/conformance/operator"

// corpusFiles returns the inputs of the conformance cases, by the name of the case.
func corpusFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no conformance cases")
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(filepath.Dir(path))] = data
	}
	return files
}

// TestConformanceInputs reads what the real operator was given. Everything must be read
// without a finding, except where the API server refused it.
func TestConformanceInputs(t *testing.T) {
	want := map[string][]string{
		"bad-durations": {
			`input.yaml:27:27: error[invalid-field]: spec.endpoints[0].interval: "abc" is not a duration write a duration such as 30s or 1m30s`,
		},
		"bad-types": {
			`input.yaml:10:22: error[invalid-field]: spec.metrics.externalLabels.build: must be a string, is a number quote it: "12"`,
			`input.yaml:36:16: error[invalid-field]: spec.endpoints[0].port: must be a string, is a number write the port's name, or targetPort: 8080`,
		},
		"bad-unknown-integration": {
			`input.yaml:29:3: error[invalid-field]: spec.config: must be a mapping, is a string`,
		},
	}
	for name, data := range corpusFiles(t) {
		t.Run(name, func(t *testing.T) {
			result := Parse(File{Path: "input.yaml", Data: data}, Options{})
			var got []string
			for _, d := range result.Diags {
				got = append(got, strings.TrimSpace(d.String()+" "+d.Hint))
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if result.Broken != 0 || len(result.Ignored) != 0 {
				t.Errorf("broken %d, ignored %v", result.Broken, result.Ignored)
			}
		})
	}
}
