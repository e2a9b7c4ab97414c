package pipelinefile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestDocumentedPipelinesAreValid parses every pipeline, and every part of one, in the manual and the examples. Whole
// pipelines set their mode, so that people who copy one see which it is.
func TestDocumentedPipelinesAreValid(t *testing.T) {
	root := filepath.Join("..", "..")
	count := 0
	for _, page := range slices.Concat(glob(t, filepath.Join(root, "docs", "*.md")),
		glob(t, filepath.Join(root, "charts", "*", "README.md")), []string{filepath.Join(root, "README.md")}) {
		for _, block := range yamlBlocks(string(read(t, page))) {
			whole := completed(t, block)
			if !strings.Contains("\n"+whole, "\nkind: Pipeline\n") {
				continue
			}
			count++
			if _, found := Parse(page, []byte(whole)); len(found) > 0 {
				t.Errorf("%s", report(t, found))
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d pipelines were found in the manual", count)
	}
	for _, file := range glob(t, filepath.Join(root, "examples", "*", "pipeline.yaml")) {
		fleet, found := Parse(file, read(t, file))
		if len(found) > 0 {
			t.Errorf("%s", report(t, found))
		}
		for _, p := range fleet {
			if p.Spec.Compatibility != manifest.Current {
				t.Errorf("%s: the mode is %s", file, p.Spec.Compatibility)
			}
		}
	}
}

// completed makes a pipeline of a part of one, with the required fields that the part lacks. It leaves other manifests
// as they are.
func completed(t *testing.T, block string) string {
	t.Helper()
	var part map[string]any
	if strings.Contains(block, "\n---\n") || strings.HasPrefix(block, "# ") ||
		yaml.Unmarshal([]byte(block), &part) != nil || part["kind"] != nil && !isFunction(part) {
		return block
	}
	spec, whole := part["spec"].(map[string]any)
	if !whole && part["sdAggregator"] == nil && part["secrets"] == nil {
		return block
	} else if !whole {
		spec = part
	}
	if spec["sources"] == nil {
		spec["sources"] = []any{map[string]any{"url": "https://git.example.com/platform/monitoring.git",
			"ref": map[string]any{"branch": "main"}}}
	}
	output, _ := spec["output"].(map[string]any)
	if output == nil {
		output = map[string]any{}
	}
	if output["branch"] == nil {
		output["branch"] = "environments/prod"
	}
	spec["output"] = output
	out, err := yaml.Marshal(map[string]any{"apiVersion": "agentry.dev/v1alpha1", "kind": "Pipeline",
		"metadata": map[string]any{"name": "prod"}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// isFunction reports whether a manifest configures a KRM function, which has neither sources nor an output.
func isFunction(m map[string]any) bool {
	meta, _ := m["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return annotations["config.kubernetes.io/function"] != nil
}

func yamlBlocks(page string) []string {
	var blocks []string
	for _, part := range strings.Split(page, "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}
