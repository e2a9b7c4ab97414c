// Package validity proves that Kubernetes takes what agentry renders, down to the last field:
// every object of every conformance case, example and scenario of the repository, under both
// secrets policies, is decoded strictly and validated by the API server's own code, and applied
// to a real API server, server-side and as a dry run; and the former judges what becomes of random
// fixtures, in which manifests are wrong. Flux would drop unknown fields without a
// word, so that a green sync says little. What is wrong is refused by both judges, which shows
// that they can.
package validity

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.Validate(), harness.ExternalSecrets())
}

// input is what agentry is given.
type input struct {
	name  string
	paths []string
}

// inputs are all that the repository holds.
func inputs(t *testing.T) []input {
	var out []input
	for _, file := range glob(t, "test/conformance/operator/*/input.yaml") {
		out = append(out, input{filepath.Base(filepath.Dir(file)), []string{file}})
	}
	for _, dir := range glob(t, "examples/*") {
		out = append(out, input{dir, []string{dir}})
	}
	out = append(out, input{"pods", glob(t, "test/fixtures/testdata/pods.yaml")})
	for _, pattern := range []string{"generator/testdata/*.txtar", "generator/testdata/hold/*.txtar",
		"internal/cli/testdata/script/*.txtar"} {
		for _, file := range glob(t, pattern) {
			out = append(out, input{strings.TrimPrefix(file, harness.Root()+"/"), []string{unpack(t, file)}})
		}
	}
	return out
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(harness.Root(), pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: nothing found, %v", pattern, err)
	}
	return found
}

// unpack writes the files of an archive into a folder.
func unpack(t *testing.T, file string) (dir string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if !filepath.IsLocal(f.Name) || filepath.Ext(name) != ".yaml" || isOutput(f.Data) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// isOutput reports whether a file of an archive is what somebody expects agentry to render.
func isOutput(text []byte) bool {
	return bytes.Contains(text, []byte("kustomize.toolkit.fluxcd.io/substitute"))
}

// render is what becomes of an input; nothing if it is wrong as a whole.
func render(t *testing.T, in input, policy string) []byte {
	t.Helper()
	command := exec.Command(harness.Agentry().Path(),
		append([]string{"render", "--no-pipeline", "--compatibility", "operator", "--secrets", policy, "--namespace",
			"default"}, in.paths...)...)
	out, err := command.Output()
	//nolint:errorlint // of this very command
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() > 1) {
		t.Fatalf("%v: %v", command.Args, err)
	}
	return out
}

// answer is that of tools/kubernetes/validate.
type answer struct {
	Object           string
	Errors, Warnings []string
}

// judge asks Kubernetes' code about a stream of manifests.
func judge(t *testing.T, text []byte) []answer {
	t.Helper()
	command := exec.Command(harness.Validate().Path())
	command.Stdin = bytes.NewReader(text)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers []answer
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers
}

func TestEverythingRenderedIsValid(t *testing.T) {
	applier := cluster.NewApplier(t)
	rendered := map[string]int{}
	for _, in := range inputs(t) {
		for _, policy := range []string{"reference", "plaintext"} {
			t.Run(in.name+" "+policy, func(t *testing.T) {
				text := render(t, in, policy)
				if len(bytes.TrimSpace(text)) == 0 {
					return
				}
				for _, a := range judge(t, text) {
					for _, e := range slices.Concat(a.Errors, a.Warnings) {
						t.Errorf("%s: %s", a.Object, e)
					}
				}
				for _, o := range harness.Decode(t, text) {
					cluster.OpenNamespaces(t, o.GetNamespace())
					if err := applier.Apply(t, o, true); err != nil {
						t.Errorf("the API server about %s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
					}
					rendered[o.GetKind()]++
				}
			})
		}
	}
	t.Logf("judged: %v", rendered)
	for _, kind := range []string{"Secret", "Service", "StatefulSet", "DaemonSet", "Deployment"} {
		if rendered[kind] < 20 {
			t.Errorf("only %d objects are %ss", rendered[kind], kind)
		}
	}
}

// TestWhatIsWrongIsRefused: both judges can say no, and of the same things.
func TestWhatIsWrongIsRefused(t *testing.T) {
	good := harness.Decode(t, render(t,
		input{"quickstart", []string{filepath.Join(harness.Root(), "examples", "quickstart")}}, "reference"))
	applier := cluster.NewApplier(t)
	for name, test := range map[string]struct {
		kind  string
		field []string
		value any
	}{
		"an unknown field":          {"StatefulSet", []string{"spec", "replicaz"}, int64(1)},
		"an unknown field of a pod": {"StatefulSet", []string{"spec", "template", "spec", "node"}, "a"},
		"a wrong type":              {"StatefulSet", []string{"spec", "replicas"}, "two"},
		"a bad label":               {"Service", []string{"metadata", "labels", "a"}, "no label!"},
		"a bad name":                {"Service", []string{"metadata", "name"}, "No_Name"},
		"a selector of nothing": {"StatefulSet", []string{"spec", "selector", "matchLabels"},
			map[string]any{"other": "x"}},
		"a key that is no file name": {"Secret", []string{"stringData", "a/b"}, "x"},
		"a bad restart policy":       {"StatefulSet", []string{"spec", "template", "spec", "restartPolicy"}, "Never"},
		"a negative deadline": {"StatefulSet", []string{"spec", "template", "spec", "activeDeadlineSeconds"},
			int64(-5)},
		"a volume without a name": {"StatefulSet", []string{"spec", "template", "spec", "volumes"},
			[]any{map[string]any{"emptyDir": map[string]any{}}}},
		"a pull secret twice": {"StatefulSet", []string{"spec", "template", "spec", "imagePullSecrets"},
			[]any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}},
		"a pod management of no sort":  {"StatefulSet", []string{"spec", "podManagementPolicy"}, "Sometimes"},
		"an address that is not one":   {"Service", []string{"spec", "clusterIP"}, "300.1.1.1"},
		"an unknown type of a service": {"Service", []string{"spec", "type"}, "Open"},
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(good, func(o *unstructured.Unstructured) bool { return o.GetKind() == test.kind })
			o := good[i].DeepCopy()
			cluster.OpenNamespaces(t, o.GetNamespace())
			if err := unstructured.SetNestedField(o.Object, test.value, test.field...); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if a := judge(t, text); len(a) != 1 || len(a[0].Errors) == 0 {
				t.Errorf("Kubernetes' code: %s", fmt.Sprint(a))
			}
			if err := applier.Apply(t, o, true); err == nil {
				t.Error("the API server takes it")
			}
		})
	}
}

// TestWarnings: what the API server warns of, agentry has warned of before, for nobody who looks at
// Flux would see it.
func TestWarnings(t *testing.T) {
	fields := []string{ // sorted
		"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector",
		"imagePullSecrets[0].name",
		"resources.limits[memory]",
		"topologySpreadConstraints[0].labelSelector",
	}
	doubtful := input{"doubtful", []string{filepath.Join("testdata", "doubtful.yaml")}}
	out, err := exec.Command(harness.Agentry().Path(), "check", doubtful.paths[0]).CombinedOutput()
	if got := found(`warning\[pod-warning\]: GrafanaAgent/m/doubtful: spec\.(\S+):`, string(out)); err != nil ||
		!slices.Equal(got, fields) {
		t.Errorf("agentry warns of %q, want %q; %v\n%s", got, fields, err, out)
	}
	objects := harness.Decode(t, render(t, doubtful, "reference"))
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "StatefulSet" })
	cluster.OpenNamespaces(t, "m")
	err = cluster.NewApplier(t).Apply(t, objects[i], true)
	if got := found(`warns: spec\.template\.spec\.(?:containers\[1\]\.)?(\S+):`, fmt.Sprint(err)); !slices.Equal(got,
		fields) {
		t.Errorf("the API server warns of %q, want %q; %v", got, fields, err)
	}
}

// found are the first groups of all matches, sorted.
func found(expression, text string) (out []string) {
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		out = append(out, match[1])
	}
	slices.Sort(out)
	return out
}
