package helmworker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/test/oracle"
)

// TestHelmItselfRendersTheSame compares every object with what Helm's command line renders from the same chart. That is
// Helm 3, which most people have; the engine here is Helm 4's.
func TestHelmItselfRendersTheSame(t *testing.T) {
	program := oracle.Helm(t)
	fixtures, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(fixtures) == 0 {
		t.Fatal("no fixtures", err)
	}
	workers := newTestWorkers(t)
	for _, name := range fixtures {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			chart, values := split(t, string(text))
			docs, err := workers.Render(t.Context(), helm.Release{
				Name: "prod", Namespace: "apps", Chart: chart, Values: values,
				Cluster: helm.Cluster{Version: "1.31", APIVersions: []string{"example.com/v1"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range docs {
				got = append(got, d.Text)
				if d.Random || d.Lookup {
					t.Errorf("%s depends on more than its inputs", d.Template)
				}
			}
			if diff := cmp.Diff(objects(t, strings.Join(helmTemplate(t, program, string(text)), "\n---\n")),
				objects(t, strings.Join(got, "\n---\n"))); diff != "" {
				t.Errorf("(-Helm +agentry):\n%s", diff)
			}
		})
	}
}

const userValues = "user-values.yaml"

// split takes the user's values out of a fixture.
func split(t *testing.T, text string) ([]helm.File, map[string]any) {
	t.Helper()
	values := map[string]any{}
	files := chartOf(text)
	i := slices.IndexFunc(files, func(f helm.File) bool { return f.Name == userValues })
	if err := yaml.Unmarshal(files[i].Data, &values); err != nil {
		t.Fatal(err)
	}
	return slices.Delete(files, i, i+1), values
}

// helmTemplate returns the documents that Helm's command line renders.
func helmTemplate(t *testing.T, program, text string) []string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		at := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	values := filepath.Join(t.TempDir(), userValues)
	if err := os.Rename(filepath.Join(folder, userValues), values); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "prod", folder, "--namespace", "apps", "--values", values, "--kube-version", "1.31",
		"--no-hooks", "--skip-tests", "--api-versions", "example.com/v1"}
	for _, version := range monitoringVersions() {
		args = append(args, "--api-versions", version)
	}
	helm := exec.Command(program, args...)
	helm.Env = append(os.Environ(), "TZ=UTC", "HELM_NO_PLUGINS=1", "HOME="+t.TempDir())
	var messages strings.Builder
	helm.Stderr = &messages
	out, err := helm.Output()
	if err != nil {
		t.Fatalf("helm: %v\n%s", err, messages.String())
	}
	return strings.Split(string(out), "\n---\n")
}

// objects returns the objects of YAML documents by kind, namespace and name.
func objects(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(doc, "---\n")), &o); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if len(o) == 0 {
			continue
		}
		metadata, _ := o["metadata"].(map[string]any)
		name := fmt.Sprint(o["kind"], " ", metadata["namespace"], "/", metadata["name"])
		if out[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		out[name] = o
	}
	return out
}
