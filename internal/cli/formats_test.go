package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// TestEachListIsDataToo holds commands with a result to one flag for its format, and the two formats for programs to
// the same values.
func TestEachListIsDataToo(t *testing.T) {
	const in, before = "../../examples/quickstart", "../../examples/platform"
	export := filepath.Join(t.TempDir(), "objects.yaml")
	const shop = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n"
	if err := os.WriteFile(export, []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := map[string][][]string{
		"check": {{"--runtime", "alloy", before}}, "test": {{in}}, "tree": {{in}}, "explain": {{"servicemonitor", in}},
		"diff": {{in, before}},
		"rbac": {{in}, {"--compare", before}}, "images": {{in}}, "version": {{}},
		"import": {{in + "/monitoring/agent.yaml"}}, "doctor": {{"-f", "nowhere.yaml"}},
		"targets": {{"--from", export, in}},
	}
	served := []string{"status", "trigger", "sync"}
	// they write files, manifests or scripts
	plain := []string{"init", "render", "function", "argocd-plugin", "serve", "crds", "kustomize-config", "completion"}
	for _, c := range newApp(Env{LookupEnv: os.LookupEnv}).Commands {
		has := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "format" })
		if has == slices.Contains(plain, c.Name) {
			t.Errorf("%s: --format is %t", c.Name, has)
		}
		if has && runs[c.Name] == nil && !slices.Contains(served, c.Name) {
			t.Errorf("%s is not tried", c.Name)
		}
		for _, args := range runs[c.Name] {
			asJSON, asYAML := outputOf(t, c.Name, command.JSON, args), outputOf(t, c.Name, command.YAML, args)
			var want, got any
			if err := json.Unmarshal([]byte(asJSON), &want); err != nil {
				t.Errorf("%s: %v in\n%s", c.Name, err, asJSON)
			}
			if err := yaml.Unmarshal([]byte(asYAML), &got); err != nil ||
				json.Valid([]byte(asYAML)) && len(asYAML) > 5 {
				t.Errorf("%s: %v, not YAML:\n%s", c.Name, err, asYAML)
			}
			if !reflect.DeepEqual(got, want) || want == nil {
				t.Errorf("%s %s: JSON\n%s\nYAML\n%s", c.Name, args, asJSON, asYAML)
			}
		}
	}
}

func outputOf(t *testing.T, name, format string, args []string) string {
	t.Helper()
	var out, errs strings.Builder
	args = slices.Concat([]string{"agentry", name, "--format", format}, args)
	if code := Run(t.Context(), args,
		Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv}); code >
		command.ExitFindings {
		t.Errorf("%s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}
