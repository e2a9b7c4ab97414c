package pipeline

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/integration"
	"github.com/agentry-dev/agentry/gitsync"
)

// TestDocumentedPipelinesAreValid parses every pipeline in the manual and the examples.
func TestDocumentedPipelinesAreValid(t *testing.T) {
	root := filepath.Join("..", "..")
	count := 0
	for _, page := range append(glob(t, filepath.Join(root, "docs", "*.md")), filepath.Join(root, "README.md")) {
		for _, block := range yamlBlocks(string(read(t, page))) {
			if !strings.Contains(block, "kind: Pipeline") {
				continue
			}
			count++
			if _, found := Parse(page, []byte(block)); len(found) > 0 {
				t.Errorf("%s", report(t, found))
			}
		}
	}
	if count < 3 {
		t.Errorf("only %d pipelines were found in the manual", count)
	}
	for _, file := range glob(t, filepath.Join(root, "examples", "*", "pipeline.yaml")) {
		if _, found := Parse(file, read(t, file)); len(found) > 0 {
			t.Errorf("%s", report(t, found))
		}
	}
}

func yamlBlocks(page string) []string {
	var blocks []string
	for _, part := range strings.Split(page, "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// TestEveryFieldIsDocumented holds the table of docs/pipeline.md to the types.
func TestEveryFieldIsDocumented(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "pipeline.md")))
	for _, path := range fieldPaths(reflect.TypeFor[gitsync.PipelineSpec](), "spec") {
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
		reflect.TypeFor[gitsync.Auth](), reflect.TypeFor[gitsync.GitHubApp](), reflect.TypeFor[v1alpha1.TLSConfig](), reflect.TypeFor[monitoringv1.SafeAuthorization](),
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
