package pipelinefile

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestDocumentedPipelinesAreValid parses every pipeline, and every part of one, in the manual and the examples. Whole
// pipelines set their mode, so that people who copy one get no advice.
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
			fleet, found := Parse(page, []byte(whole))
			if len(found) > 0 {
				t.Errorf("%s", report(t, found))
			}
			for _, p := range fleet {
				if p.Spec.Advice() != "" && whole == block {
					t.Errorf("%s: pipeline %s does not set compatibility", page, p.Metadata.Name)
				}
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
			if p.Spec.Mode() != manifest.Current {
				t.Errorf("%s: the mode is %s", file, p.Spec.Mode())
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
		yaml.Unmarshal([]byte(block), &part) != nil || part["kind"] != nil {
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

func yamlBlocks(page string) []string {
	var blocks []string
	for _, part := range strings.Split(page, "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// TestEveryFieldIsDocumented compares the table of docs/pipeline.md with the types.
func TestEveryFieldIsDocumented(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "pipeline.md")))
	for _, path := range fieldPaths(reflect.TypeFor[pipeline.Spec](), "spec") {
		if !strings.Contains(page, "`"+path+"`") {
			t.Errorf("docs/pipeline.md does not describe %s", path)
		}
	}
	for _, described := range describedOnce() {
		for _, name := range fieldsOf(described).names {
			if !strings.Contains(page, name) {
				t.Errorf("docs/pipeline.md does not name %s", name)
			}
		}
	}
}

// describedOnce are the types of fields that the manual describes apart from the table.
func describedOnce() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[pipeline.Auth](), reflect.TypeFor[pipeline.GitHubApp](), reflect.TypeFor[v1alpha1.TLSConfig](),
		reflect.TypeFor[monitoringv1.SafeAuthorization](),
		reflect.TypeFor[integration.Entry](), reflect.TypeFor[integration.Field](),
	}
}

// fieldPaths lists the leaves of a struct as the manual writes them.
func fieldPaths(t reflect.Type, path string) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldPaths(t.Elem(), path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct && !slices.Contains(describedOnce(), t.Elem()) {
			return append([]string{path}, fieldPaths(t.Elem(), path+"[]")...)
		}
		return []string{path}
	}
	if t.Kind() != reflect.Struct || slices.Contains(describedOnce(), t) || t == reflect.TypeFor[metav1.Duration]() {
		return []string{path}
	}
	var out []string
	fields := fieldsOf(t)
	for _, name := range fields.names {
		out = append(out, fieldPaths(t.FieldByIndex(fields.index[name]).Type, path+"."+name)...)
	}
	return out
}
