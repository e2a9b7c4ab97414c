package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// readers are the tests that read manifests of pages, by what these are.
func readers() map[string]other {
	return map[string]other{
		"values of a chart":                  {"test/chart/docs_test.go", "TestExamplesOfTheReadme"},
		"a pipeline or a part of one":        {"internal/pipelinefile/docs_test.go", "TestDocumentedPipelinesAreValid"},
		"for Prometheus":                     {"test/chart/docs_test.go", "TestPrometheusReadsThePages"},
		"files of docs/holding.md":           {"internal/cli/holding_test.go", "TestHoldingPage"},
		"files of docs/holding-reference.md": {"internal/cli/holding_test.go", "TestHoldingReference"},
		"files of docs/first-day.md":         {"test/e2e/day/day_test.go", "TestFirstDay"},
		"applied by Flux":                    {"test/e2e/flux/flux_test.go", "TestFlux"},
		"applied by Argo CD":                 {"test/e2e/argocd/argocd_test.go", "TestArgoCD"},
		"an Application":                     {"test/chart/docs_test.go", "TestExamplesOfInstall"},
	}
}

// TestManifests: whom a manifest is for can read it. A block that is for nobody is an error.
func TestManifests(t *testing.T) {
	applier := cluster.NewApplier(t)
	install(t, applier)
	counts := map[string]int{}
	for _, b := range blocks(t) {
		switch b.Language {
		case "json":
			if !json.Valid([]byte(b.Text)) {
				t.Errorf("%s is not JSON", b)
			}
			continue
		case "yaml", "yml":
		default:
			if b.Language != "" && !isCommands(b) {
				t.Errorf("%s: nobody knows what %q is", b, b.Language)
			}
			continue
		}
		what, err := readBy(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		counts[what]++
		switch what {
		case inputs:
			check(t, b)
		case tests:
			runTests(t, b)
		case objects:
			dryRun(t, applier, b)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("e2e: %3d manifests: %s\n", counts[what], what)
	}
	for what := range readers() {
		if counts[what] == 0 {
			t.Errorf("no manifest is %s", what)
		}
	}
}

const (
	inputs  = "inputs, by agentry check"
	objects = "objects, by the API server"
	tests   = "tests of the quickstart, by agentry test"
	ofCI    = "of CI systems, as YAML"
	built   = "of kustomize, as YAML" // internal/cli builds such
)

// readBy is what a manifest is.
func readBy(b page.Block) (string, error) {
	var top map[string]any
	if err := yaml.Unmarshal([]byte(strings.Split(b.Text, "\n---\n")[0]), &top); err != nil {
		return "", err
	}
	kind, _ := top["kind"].(string)
	version, _ := top["apiVersion"].(string)
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return top[key] != nil })
	}
	switch {
	case b.Page == "docs/holding.md", b.Page == "docs/holding-reference.md", b.Page == "docs/first-day.md":
		return "files of " + b.Page, nil
	case b.Page == "docs/flux.md" && !strings.HasPrefix(version, "agentry.dev/"):
		return "applied by Flux", nil
	case b.Page == "docs/argocd.md" && !strings.HasPrefix(version, "agentry.dev/"):
		return "applied by Argo CD", nil
	case strings.HasPrefix(version, "notification.toolkit.fluxcd.io/"):
		return "applied by Flux", nil
	case strings.HasPrefix(b.Text, "# values.yaml\n"):
		return "values of a chart", nil
	case kind == "Application":
		return "an Application", nil
	case kind == "Pipeline", kind == "" && !isPart(b) && has("spec", "sdAggregator", "secrets"):
		return "a pipeline or a part of one", nil
	case has("scrape_configs", "groups"):
		return "for Prometheus", nil
	case kind == "HierarchyTest":
		return tests, nil
	case strings.HasPrefix(version, "monitoring."), isPart(b):
		return inputs, nil
	case kind != "" && version != "":
		return objects, nil
	case has("jobs", "render", "repos"):
		return ofCI, nil
	case has("helmCharts", "configurations", "transformers", "resources"):
		return built, nil
	}
	return "", fmt.Errorf("no test reads it, a %s %s with %q", version, kind, slices.Sorted(maps.Keys(top)))
}

// wholes are objects around the parts of objects that pages show, by the comment in front of these.
func wholes() map[string]string {
	const head = "apiVersion: monitoring.grafana.com/v1alpha1\nmetadata: {name: whole, namespace: monitoring}\n"
	return map[string]string{
		"# MetricsInstance": head + "kind: MetricsInstance\nspec:\n",
		"# an Integration": head +
			"kind: Integration\nspec:\n  name: mysql\n  type: {allNodes: false}\n  config: {data_source_name: x}\n",
		"# a MetricsIntegration": head +
			"kind: MetricsIntegration\nspec:\n  name: mysql\n  config: {data_source_name: x}\n",
	}
}

func isPart(b page.Block) bool { return whole(b.Text) != b.Text }

// whole makes an object of a part of one.
func whole(text string) string {
	for comment, around := range wholes() {
		if strings.HasPrefix(text, comment) {
			return around + "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
		}
	}
	return text
}

// check has agentry read a manifest.
func check(t *testing.T, b page.Block) {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.Agentry().Path(), "check", "--no-pipeline", "--namespace",
		"monitoring", "-")
	command.Stdin = strings.NewReader(whole(b.Text))
	if out, err := command.CombinedOutput(); err != nil || strings.Contains(string(out), "[unknown-field]") {
		t.Errorf("%s: %v\n%s", b, err, out)
	}
}

// runTests runs tests of hierarchies on the quickstart.
func runTests(t *testing.T, b page.Block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tests.yaml")
	if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), harness.Agentry().Path(), "test", "--no-pipeline",
		filepath.Join(harness.Root(), "examples", "quickstart"), file)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", b, err, out)
	}
}

// dryRun has the API server read a manifest.
func dryRun(t *testing.T, applier *harness.Applier, b page.Block) {
	t.Helper()
	for _, o := range harness.Decode(t, []byte(b.Text)) {
		if o.GetKind() == "HelmRelease" {
			continue // The module proxy does not have its definition; test/chart reads its values.
		}
		if o.GetNamespace() != "" {
			cluster.OpenNamespaces(t, o.GetNamespace())
		}
		if err := applier.Apply(t, o, true); err != nil {
			t.Errorf("%s: %s %s: %v", b, o.GetKind(), o.GetName(), err)
		}
	}
}

// install makes the API server know the kinds of pages that Kubernetes does not have.
func install(t *testing.T, applier *harness.Applier) {
	t.Helper()
	for _, kind := range []string{"GitRepository", "OCIRepository"} {
		file := "config/crd/bases/source.toolkit.fluxcd.io_" +
			strings.Replace(strings.ToLower(kind), "repository", "repositories", 1) + ".yaml"
		text, err := harness.CRDFile("github.com/fluxcd/source-controller", file)
		if err != nil {
			t.Fatal(err)
		}
		applier.MustApply(t, harness.Decode(t, text), "CustomResourceDefinition")
		harness.Eventually(t, "serve "+kind, func() error { return applier.Knows(kind) })
	}
}
