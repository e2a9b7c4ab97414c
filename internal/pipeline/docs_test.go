package pipeline

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
	file := filepath.Join(root, "examples", "quickstart", "pipeline.yaml")
	if _, found := Parse(file, read(t, file)); len(found) > 0 {
		t.Errorf("%s", report(t, found))
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
	for _, name := range fieldsOf(reflect.TypeFor[gitsync.Auth]()).names {
		if !strings.Contains(page, name) {
			t.Errorf("docs/pipeline.md does not name %s", name)
		}
	}
}

// fieldPaths lists the leaves of a struct as the manual writes them; Auth is described
// once for all places that it stands in.
func fieldPaths(t reflect.Type, path string) []string {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return append([]string{path}, fieldPaths(t.Elem(), path+"[]")...)
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[gitsync.Auth]():
		return []string{path}
	}
	var out []string
	for i, name := range fieldsOf(t).names {
		out = append(out, fieldPaths(t.Field(i).Type, path+"."+name)...)
	}
	return out
}
