package pipelinefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/starter"
)

const ourModule = "github.com/agentry-dev/agentry/"

// schemaFile is the file that editors read. Examples and what agentry init writes name it.
var schemaFile = filepath.Join("..", "..", "docs", "pipeline.schema.json")

// TestSchemaIsUpToDate compares the JSON Schema of pipeline files with the types that they are decoded into.
func TestSchemaIsUpToDate(t *testing.T) {
	m := schemaMaker{t: t, definitions: map[string]any{}, comments: map[string]map[string]string{}}
	root := m.object(reflect.TypeFor[pipeline.Pipeline]())
	properties := root["properties"].(map[string]any)
	properties["apiVersion"].(map[string]any)["const"] = pipeline.APIVersion
	properties["kind"].(map[string]any)["const"] = pipeline.Kind
	root["$schema"], root["title"], root["definitions"] = "http://json-schema.org/draft-07/schema#",
		"Pipeline of agentry", m.definitions
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, schemaFile)), got.String()); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", schemaFile, diff)
	}
}

// schemaMaker makes JSON Schemas of Go types in the form that the decoder reads.
type schemaMaker struct {
	t           *testing.T
	definitions map[string]any
	comments    map[string]map[string]string // what each package says about Type.Field
}

// kubernetes are the types of fields that are passed on to Kubernetes. The strategy of an update depends on the
// workload.
func kubernetes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"annotations": reflect.TypeFor[map[string]string](), "nodeSelector": reflect.TypeFor[map[string]string](),
		"resources": reflect.TypeFor[corev1.ResourceRequirements](), "env": reflect.TypeFor[[]corev1.EnvVar](),
		"tolerations": reflect.TypeFor[[]corev1.Toleration](), "affinity": reflect.TypeFor[corev1.Affinity](),
		"topologySpreadConstraints": reflect.TypeFor[[]corev1.TopologySpreadConstraint](),
	}
}

// words returns the values of types that have only a few.
func words() map[reflect.Type][]string {
	text := func(values ...any) (out []string) {
		for _, v := range values {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	return map[reflect.Type][]string{
		reflect.TypeFor[manifest.Compatibility](): text(manifest.Operator, manifest.Current),
		reflect.TypeFor[pipeline.Runtime]():       text(pipeline.RuntimeAgent, pipeline.RuntimeAlloy),
		reflect.TypeFor[pipeline.Sharding]():      text(pipeline.ShardingRules, pipeline.ShardingClustering),
		reflect.TypeFor[pipeline.OnInvalid]():     text(pipeline.OnInvalidHold, pipeline.OnInvalidFail),
		reflect.TypeFor[pipeline.FailOn]():        text(pipeline.FailOnError, pipeline.FailOnWarning),
		reflect.TypeFor[manifest.UnknownFields](): text(manifest.RefuseUnknownFields, manifest.IgnoreUnknownFields),
		reflect.TypeFor[inputs.Mode](): text(inputs.Auto, inputs.Plain,
			inputs.Kustomize, inputs.Flux, inputs.ArgoCD),
		reflect.TypeFor[pipeline.PromotionMode](): text(pipeline.PromoteDirect, pipeline.PromoteNext,
			pipeline.PromotePullRequest),
		reflect.TypeFor[pipeline.ForgeType](): text(pipeline.ForgeGitHub, pipeline.ForgeGitLab,
			pipeline.ForgeGitea),
	}
}

func (m *schemaMaker) value(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return map[string]any{"type": []string{"string", "number"}} // quantities, and numbers or names
	case words()[t] != nil:
		return map[string]any{"type": "string", "enum": words()[t]}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.value(t.Elem())
	case reflect.Struct:
		name := strings.TrimPrefix(t.PkgPath(),
			ourModule)[strings.LastIndex(strings.TrimPrefix(t.PkgPath(), ourModule), "/")+1:] + "." + t.Name()
		if m.definitions[name] == nil {
			m.definitions[name] = true // while it is made
			m.definitions[name] = m.object(t)
		}
		return map[string]any{"$ref": "#/definitions/" + name}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.value(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.value(t.Elem())}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "string"}
}

// object allows the fields that the decoder knows, and no others.
func (m *schemaMaker) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	fields := fieldsOf(t)
	for _, name := range fields.names {
		field := t.FieldByIndex(fields.index[name])
		s := m.value(field.Type)
		if as := kubernetes()[name]; as != nil && field.Type.Kind() == reflect.Interface {
			s = map[string]any{"anyOf": []any{m.value(as), map[string]any{"type": "null"}}}
		}
		if text := m.comment(t, field.Name); text != "" {
			s["description"] = text
		}
		properties[name] = s
		if isOurs := strings.HasPrefix(t.PkgPath(), ourModule); isOurs &&
			!strings.Contains(field.Tag.Get("json"), ",omitempty") {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

// comment returns the comment of a field in the source of one of our packages.
func (m *schemaMaker) comment(of reflect.Type, field string) string {
	folder, isOurs := strings.CutPrefix(of.PkgPath(), ourModule)
	if !isOurs {
		return ""
	}
	if m.comments[folder] == nil {
		m.comments[folder] = comments(m.t, folder)
	}
	return m.comments[folder][of.Name()+"."+field]
}

func comments(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range glob(t, filepath.Join("..", "..", filepath.FromSlash(folder), "*.go")) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType {
				return true
			}
			if s, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, f := range s.Fields.List {
					for _, field := range f.Names {
						out[spec.Name.Name+"."+field.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return out
}

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
	o := starter.Options{Name: "prod", URL: "https://git.example.com/a.git", Branch: "main", Namespace: "monitoring",
		RemoteWrite: "https://mimir/push", Job: starter.NoJob, Deployer: starter.NoDeployer}
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
