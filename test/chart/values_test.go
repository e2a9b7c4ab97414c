package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// value is one value of the chart, as values.yaml documents it.
type value struct {
	path     []string
	section  string
	doc      string
	fallback string // the default, as YAML on one line
}

func (v value) String() string { return strings.Join(v.path, ".") }

// documented reads values.yaml: a value is a key with a comment above it; a mapping whose keys have comments holds
// values. Lines that begin with "## " are sections.
func (s subject) documented(t *testing.T) []value {
	t.Helper()
	text := read(t, s.dir()+"/values.yaml")
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	sections := make([]string, 0, 512)
	for _, line := range strings.Split(text, "\n") {
		name := ""
		if len(sections) > 0 {
			name = sections[len(sections)-1]
		}
		if s, ok := strings.CutPrefix(line, "## "); ok {
			name = s
		}
		sections = append(sections, name)
	}
	var out []value
	var walk func(n *yaml.Node, path []string)
	walk = func(n *yaml.Node, path []string) {
		for i := 0; i < len(n.Content); i += 2 {
			key, val := n.Content[i], n.Content[i+1]
			here := append(slices.Clone(path), key.Value)
			if comment := comment(key); comment != "" {
				out = append(out, value{here, sections[key.Line-1], comment, flat(t, val)})
			} else if val.Kind == yaml.MappingNode && len(val.Content) > 0 {
				walk(val, here)
			} else {
				t.Errorf("values.yaml:%d: %s has no comment", key.Line, strings.Join(here, "."))
			}
		}
	}
	walk(doc.Content[0], nil)
	return out
}

// comment is the block of lines right above a key.
func comment(key *yaml.Node) string {
	blocks := strings.Split(key.HeadComment, "\n\n")
	var words []string
	for _, line := range strings.Split(blocks[len(blocks)-1], "\n") {
		if !strings.HasPrefix(line, "## ") {
			words = append(words, strings.TrimSpace(strings.TrimPrefix(line, "#")))
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func flat(t *testing.T, n *yaml.Node) string {
	t.Helper()
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	tableBegin = "<!-- values: written by go test -update in test/chart, from values.yaml -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

func TestReadmeHasEveryValue(t *testing.T) { eachChart(t, readmeHasEveryValue) }

func readmeHasEveryValue(t *testing.T, s subject) {
	var b strings.Builder
	section := ""
	for _, v := range s.documented(t) {
		if v.section != section {
			section = v.section
			fmt.Fprintf(&b, "\n### %s\n\n| value | default | is |\n|---|---|---|\n", section)
		}
		escape := strings.NewReplacer("|", "\\|")
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v, escape.Replace(v.fallback), escape.Replace(v.doc))
	}
	replaceIn(t, s.dir()+"/README.md", tableBegin, tableEnd, b.String()+"\n")
}

// replaceIn compares a part of a file, or writes it.
func replaceIn(t *testing.T, path, begin, end, want string) {
	t.Helper()
	text := read(t, path)
	before, rest, ok1 := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks %q or %q", path, begin, end)
	}
	golden(t, path, before+begin+want+end+after)
}

// TestSchemaDescribesEveryValue holds the schema to values.yaml, and gives it its comments, which editors show.
func TestSchemaDescribesEveryValue(t *testing.T) { eachChart(t, schemaDescribesEveryValue) }

func schemaDescribesEveryValue(t *testing.T, s subject) {
	path := s.dir() + "/values.schema.json"
	var schema map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"global": true}
	for _, v := range s.documented(t) {
		at := schema
		for _, key := range v.path {
			properties, _ := at["properties"].(map[string]any)
			next, ok := properties[key].(map[string]any)
			if !ok {
				t.Fatalf("the schema does not know %s", v)
			}
			at = next
		}
		known[v.String()] = true
		if ref, ok := at["$ref"]; ok { // Draft 7 ignores what stands beside a reference.
			at["allOf"] = []any{map[string]any{"$ref": ref}}
			delete(at, "$ref")
		}
		at["description"] = v.doc
	}
	var walk func(at map[string]any, path string)
	walk = func(at map[string]any, path string) {
		if known[path] {
			return
		}
		properties, ok := at["properties"].(map[string]any)
		if !ok {
			t.Errorf("the schema knows %s, and values.yaml does not", path)
		}
		for key, next := range properties {
			walk(next.(map[string]any), strings.TrimPrefix(path+"."+key, "."))
		}
		if at["additionalProperties"] != false {
			t.Errorf("the schema takes anything at %q", path)
		}
	}
	// What a value has inside of it is the schema's alone; known stops there.
	walk(schema, "")
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, path, string(text)+"\n")
}

// TestSchemaIsClosed: no object of the schema takes fields that nobody knows, except for those of parent charts.
func TestSchemaIsClosed(t *testing.T) { eachChart(t, schemaIsClosed) }

func schemaIsClosed(t *testing.T, s subject) {
	var schema any
	if err := json.Unmarshal([]byte(read(t, s.dir()+"/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var walk func(at any, path string)
	walk = func(at any, path string) {
		switch at := at.(type) {
		case map[string]any:
			_, closed := at["additionalProperties"]
			types, _ := at["type"].([]any) // with null
			isObject := at["type"] == "object" || slices.Contains(types, any("object"))
			if isObject && !closed && path != "/properties/global" {
				t.Errorf("%s takes anything", path)
			}
			for key, inner := range at {
				walk(inner, path+"/"+key)
			}
		case []any:
			for i, inner := range at {
				walk(inner, fmt.Sprintf("%s/%d", path, i))
			}
		}
	}
	walk(schema, "")
}

// TestEveryValueDoesSomething takes each value out of the cases that set it: one of them must render something else
// then.
func TestEveryValueDoesSomething(t *testing.T) { eachChart(t, everyValueDoesSomething) }

func everyValueDoesSomething(t *testing.T, s subject) {
	all := s.cases(t)
	rendered := map[string]map[string]string{}
	for name, values := range all {
		rendered[name] = s.render(t, release{}, values)
	}
	for _, v := range s.documented(t) {
		if v.String() == "enabled" { // For parent charts only.
			continue
		}
		set, works := false, false
		for _, name := range slices.Sorted(maps.Keys(all)) {
			without, had := cut(all[name], v.path)
			if !had || works {
				continue
			}
			set = true
			after, err := s.tryRender(t, release{}, without)
			works = err != nil || !maps.Equal(rendered[name], after)
		}
		if !set {
			t.Errorf("no case of the chart's ci folder sets %s", v)
		} else if !works {
			t.Errorf("%s changes nothing", v)
		}
	}
}

// cut is a copy of values without the one at the path.
func cut(values map[string]any, path []string) (map[string]any, bool) {
	out := maps.Clone(values)
	if len(path) == 1 {
		_, had := out[path[0]]
		delete(out, path[0])
		return out, had
	}
	inner, ok := out[path[0]].(map[string]any)
	if !ok {
		return out, false
	}
	rest, had := cut(inner, path[1:])
	out[path[0]] = rest
	return out, had
}
