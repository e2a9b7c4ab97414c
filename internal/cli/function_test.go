package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// TestFunctionsRenderTheSame: what agentry function adds for each conformance case that has no error is what agentry
// render prints.
func TestFunctionsRenderTheSame(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob(filepath.Join("..", "..", "test", "conformance", "operator", "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		set := []string{"--set", "spec.compatibility=operator", "--set", "spec.secrets.policy=plaintext"}
		want, code := runWith(t, text, append([]string{"render", "--no-pipeline", "-"}, set...)...)
		if code != command.ExitDone || strings.Contains(input, "agent-paused") { // only a branch can keep that
			continue
		}
		got, code := runWith(t, resourceList(t, text), append([]string{"function"}, set...)...)
		if code != command.ExitDone {
			t.Errorf("%s: exit code %d", input, code)
			continue
		}
		compared++
		var list struct{ Items []map[string]any }
		if err := yaml.Unmarshal(got, &list); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rendered(t, want), placed(list.Items)); diff != "" {
			t.Errorf("%s (-render +function):\n%s", input, diff)
		}
	}
	if compared < 50 {
		t.Errorf("only %d cases of %d were compared", compared, len(inputs))
	}
}

func runWith(t *testing.T, stdin []byte, args ...string) ([]byte, int) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(t.Context(), append([]string{"agentry"}, args...), Env{Stdin: bytes.NewReader(stdin), Stdout: &out,
		Stderr: &errs, LookupEnv: os.LookupEnv})
	return out.Bytes(), code
}

// resourceList returns the objects of a file as kustomize sends them.
func resourceList(t *testing.T, text []byte) []byte {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}).Read()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := kio.ByteWriter{Writer: &out, WrappingKind: kio.ResourceListKind,
		WrappingAPIVersion: kio.ResourceListAPIVersion}
	if err := w.Write(nodes); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rendered returns the objects that agentry render printed, by their files.
func rendered(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, text := range strings.Split("\n"+string(stream), "\n---\n# ")[1:] {
		name, manifest, _ := strings.Cut(text, "\n")
		var o map[string]any
		if err := yaml.Unmarshal([]byte(manifest+"\n"), &o); err != nil {
			t.Fatal(err)
		}
		out[name] = o
	}
	return out
}

// placed returns the items that say which file they are of, by their files, without saying so.
func placed(items []map[string]any) map[string]any {
	out := map[string]any{}
	for _, item := range items {
		meta, _ := item["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		name, isPlaced := annotations["internal.config.kubernetes.io/path"].(string)
		if !isPlaced {
			continue
		}
		for key := range annotations {
			if strings.Contains(key, "config.kubernetes.io/") {
				delete(annotations, key)
			}
		}
		out[name] = item
	}
	return out
}
