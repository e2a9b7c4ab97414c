package generator_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// FuzzRender holds that nothing that anybody commits makes a render panic, or come out
// another way the next time, or a report that cannot be printed. Its seeds are all inputs of
// the corpus, good and bad.
func FuzzRender(f *testing.F) {
	inputs, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(inputs) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
	for _, name := range inputs {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxBytes = 100 << 10 // what is larger only takes longer
		if len(input) > maxBytes {
			return
		}
		for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference} {
			out := render(t, policy, input)
			again := render(t, policy, input)
			if diff := cmp.Diff(filesOf(again), filesOf(out)); diff != "" {
				t.Fatalf("another render differs:\n%s", diff)
			}
			printAll(t, out.Diags, input)
		}
	})
}

func filesOf(out *generator.Output) map[string]string {
	files := map[string]string{}
	for _, u := range out.Units {
		for _, file := range u.Files {
			files[u.Name+"/"+file.Path] = string(file.Data)
		}
	}
	return files
}

func printAll(t *testing.T, list diag.List, input []byte) {
	t.Helper()
	quoting := diag.Text{Input: func(string, string) []byte { return input }}
	for _, p := range []diag.Printer{quoting, diag.JSON{}, diag.GitHub{}} {
		if err := p.Print(io.Discard, list); err != nil {
			t.Fatal(err)
		}
	}
}
