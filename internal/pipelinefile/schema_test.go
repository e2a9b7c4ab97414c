package pipelinefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/internal/scaffold"
)

// schemaFile is the file that editors read. Examples and what agentry init writes name it.
var schemaFile = filepath.Join("..", "..", "docs", "pipeline.schema.json")

// TestPipelinesHaveTheSchema validates the pipelines of pages and tests. With one more field, or with one value of
// another type, each is invalid.
func TestPipelinesHaveTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	count, changes := 0, 0
	for name, text := range pipelineTexts(t) {
		for _, document := range documents(t, name, text) {
			count++
			if err := schema.Validate(document); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for what, undo := range mutations(document) {
				changes++
				if schema.Validate(document) == nil {
					t.Errorf("%s is valid with %s", name, what)
				}
				undo()
			}
		}
	}
	if count < 25 || changes < 500 {
		t.Errorf("only %d pipelines and %d mutations", count, changes)
	}
}

// TestTheSchemaAgreesAboutSources: it takes the sources that agentry takes, and no others.
func TestTheSchemaAgreesAboutSources(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.Repeat("a", 40)
	for ref, want := range map[string]bool{
		"{branch: main}": true, "{tag: v1}": true, "{semver: '>=1'}": true, "{commit: " + commit + "}": true,
		"{name: refs/heads/main}": true, "{branch: main, tag: ''}": true, "{branch: '', name: refs/heads/main}": true,
		"": false, "{}": false, "{branch: ''}": false, "{branch: main, tag: v1}": false,
		"{tag: v1, commit: " + commit + "}": false,
	} {
		sources := "[]"
		if ref != "" {
			sources = "[{url: 'https://git.example.com/a.git', ref: " + ref + "}]"
		}
		text := "apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: a}\n" +
			"spec: {output: {url: 'https://git.example.com/b.git', branch: b}, sources: " + sources + "}\n"
		_, found := Parse("pipeline.yaml", []byte(text))
		err := schema.Validate(documents(t, "pipeline.yaml", text)[0])
		if (err == nil) != want || found.HasErrors() == want {
			t.Errorf("sources: %s: the schema says %v, agentry %v", sources, err, found)
		}
	}
}

// TestExamplesNameTheSchema: the path is relative, so that an editor in a clone needs no network.
func TestExamplesNameTheSchema(t *testing.T) {
	for _, file := range glob(t, filepath.Join("..", "..", "examples", "*", "pipeline.yaml")) {
		const line = "# yaml-language-server: $schema=../../docs/pipeline.schema.json\n"
		if !strings.HasPrefix(string(read(t, file)), line) {
			t.Errorf("%s does not begin with %s", file, line)
		}
	}
}

// TestInitNamesTheSchema: where agentry init writes there is no clone, so the schema is that of the main branch.
func TestInitNamesTheSchema(t *testing.T) {
	const line = "# yaml-language-server: " +
		"$schema=https://raw.githubusercontent.com/agentry-dev/agentry/main/docs/pipeline.schema.json\n"
	if text := initial(t); !strings.HasPrefix(text, line) {
		t.Errorf("it does not begin with %s:\n%s", line, text)
	}
}

// initial is the pipeline file that agentry init writes.
func initial(t *testing.T) string {
	t.Helper()
	o := scaffold.Options{Name: "prod", URL: "https://git.example.com/a.git", Branch: "main", Namespace: "monitoring",
		RemoteWrite: "https://mimir/push", Runtime: "alloy", Job: scaffold.NoJob, Deployer: scaffold.NoDeployer,
		Release: scaffold.Release{Revision: "main"}}
	files, err := o.Files()
	if err != nil || files[0].Path != o.Pipeline() {
		t.Fatalf("%v, %v", files, err)
	}
	return string(files[0].Data)
}

// pipelineTexts are the pipelines of pages and examples, that of agentry init, and those that tests call good.
func pipelineTexts(t *testing.T) map[string]string {
	t.Helper()
	root, out := filepath.Join("..", ".."), map[string]string{"agentry init": initial(t)}
	for _, page := range slices.Concat(glob(t, filepath.Join(root, "docs", "*.md")),
		[]string{filepath.Join(root, "README.md")}) {
		for i, block := range yamlBlocks(string(read(t, page))) {
			if whole := completed(t, block); strings.Contains("\n"+whole, "\nkind: Pipeline\n") {
				out[fmt.Sprintf("%s, block %d", page, i)] = whole
			}
		}
	}
	for _, file := range slices.Concat(glob(t, filepath.Join(root, "examples", "*", "pipeline.yaml")),
		glob(t, "testdata/*.good.yaml")) {
		out[file] = string(read(t, file))
	}
	return out
}

// documents are the documents of a file as JSON has them.
func documents(t *testing.T, name, text string) (out []any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var value any
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out
		}
		data, jsonErr := json.Marshal(value)
		if err = errors.Join(err, jsonErr); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if value == nil {
			continue
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, document)
	}
}

// named are fields whose keys are the user's, and open fields may have any value.
var (
	named = []string{"namespaces", "labels", "alertLabels", "matchLabels", "annotations", "nodeSelector", "sourceRefs",
		"resources.limits", "resources.requests"}
	open = []string{"updateStrategy", "default"}
)

// mutations changes a document in one place after the other.
func mutations(document any) func(yield func(what string, undo func()) bool) {
	return func(yield func(string, func()) bool) {
		var walk func(at string, value any) bool
		walk = func(at string, value any) bool {
			switch value := value.(type) {
			case map[string]any:
				value["unheardOf"] = "x"
				if !yield(at+".unheardOf", func() { delete(value, "unheardOf") }) {
					return false
				}
				for key, old := range value {
					if slices.Contains(open, key) {
						continue
					}
					value[key] = wrong(old)
					if !yield(at+"."+key+" of another type", func() { value[key] = old }) {
						return false
					}
					isNamed := slices.ContainsFunc(named, func(name string) bool {
						return strings.HasSuffix(at+"."+key, "."+name)
					})
					if !isNamed && !walk(at+"."+key, old) {
						return false
					}
				}
			case []any:
				for i, old := range value {
					if !walk(fmt.Sprintf("%s[%d]", at, i), old) {
						return false
					}
				}
			}
			return true
		}
		walk("", document)
	}
}

// wrong is a value of a type that no field has which has the other.
func wrong(value any) any {
	if _, isList := value.([]any); isList {
		return true
	}
	return []any{"x"}
}
