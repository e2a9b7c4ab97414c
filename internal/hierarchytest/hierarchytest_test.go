package hierarchytest

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

var update = flag.Bool("update", false, "rewrite want.txt of testdata")

func TestRun(t *testing.T) {
	for _, name := range []string{"selected", "targets"} {
		for _, mode := range []manifest.Compatibility{manifest.Current, manifest.Operator} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				archive := open(t, name)
				results := run(t, archive, mode)
				var text strings.Builder
				if err := Text(&text, results); err != nil {
					t.Fatal(err)
				}
				if mode == manifest.Operator { // rules differ in number, not in these results
					return
				}
				held(t, archive, name, text.String(), *update)
				again := run(t, archive, mode)
				if diff := cmp.Diff(results, again); diff != "" {
					t.Errorf("another run says something else:\n%s", diff)
				}
			})
		}
	}
}

// run renders in.yaml, and runs the tests of tests.yaml.
func run(t *testing.T, archive *txtar.Archive, mode manifest.Compatibility) []Result {
	t.Helper()
	set := manifest.NewSet(manifest.Parse(manifest.File{Path: "in.yaml", Data: file(archive, "in.yaml")},
		manifest.Options{Compatibility: mode}))
	out := generator.Render(set, generator.Options{Compatibility: mode, Secrets: secretref.Plaintext}, nil)
	tests, err := Parse("tests.yaml", file(archive, "tests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(tests, set, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if passes := len(r.Problems) == 0; passes != (r.Test == "right") {
			t.Errorf("%s: %s: passes: %t", r.Test, r.Case, passes)
		}
	}
	return results
}

func TestBadFilesAreRefused(t *testing.T) {
	archive := open(t, "bad")
	var got strings.Builder
	for _, f := range archive.Files {
		if f.Name == "want.txt" {
			continue
		}
		if !IsTest(f.Data) {
			t.Errorf("%s is not taken for a test", f.Name)
		}
		tests, err := Parse(f.Name, f.Data)
		if err == nil {
			t.Errorf("%s is accepted: %v", f.Name, tests)
			continue
		}
		got.WriteString(err.Error() + "\n")
	}
	held(t, archive, "bad", got.String(), *update)
}

func TestOtherDocumentsAreSkipped(t *testing.T) {
	for _, text := range []string{"kind: HierarchyTest\napiVersion: other.example.com/v1\n", "", "a: b\n---\n",
		"- kind: HierarchyTest\n"} {
		if tests, err := Parse("a.yaml", []byte(text)); err != nil || tests != nil {
			t.Errorf("%q: %v, %v", text, tests, err)
		}
	}
	if IsTest([]byte("spec:\n  kind: HierarchyTest\n")) {
		t.Error("a field of an object is taken for its kind")
	}
}

func TestJUnit(t *testing.T) {
	var text strings.Builder
	results := []Result{
		{Test: "a", Case: "one", File: "a.yaml", Line: 3},
		{Test: "a", Case: "two", File: "a.yaml", Line: 5,
			Problems: []Problem{{About: "labels", Expected: []string{`pod: "<a>"`}, Found: []string{"\x1b[31m"}}}},
		{Test: "b", Case: "one", File: "b.yaml", Line: 1},
	}
	if err := JUnit(&text, results); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatalf("%v:\n%s", err, text.String())
	}
	if got.Tests != 3 || got.Failures != 1 || len(got.Suites) != 2 || got.Suites[0].Failures != 1 ||
		got.Suites[0].Tests != 2 {
		t.Errorf("wrong counts:\n%s", text.String())
	}
	if failure := got.Suites[0].Cases[1].Failure; failure == nil || !strings.Contains(failure.Text, `- pod: "<a>"`) {
		t.Errorf("the failure is missing:\n%s", text.String())
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("an escape sequence gets into the report")
	}
}

// TestSchema compares the schema with the fields that Parse reads.
func TestSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Schema)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
	good, err := os.ReadFile(filepath.Join("..", "..", "examples", "quickstart", "tests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := valid(good); err != nil {
		t.Error(err)
	}
	if err := valid(file(open(t, "bad"), "1.yaml")); err == nil {
		t.Error("the schema accepts an unknown field")
	}
	var root struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &root); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]any{"selected": Selected{}, "target": Target{}, "series": Series{},
		"sent": Sent{}} {
		var want, got []string
		for f := range reflect.TypeOf(of).Fields() {
			if tag := f.Tag.Get("yaml"); tag != "-" {
				want = append(want, tag)
			}
		}
		for property := range root.Defs[name].Properties {
			got = append(got, property)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the schema has other fields (-type +schema):\n%s", name, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"bad", "selected", "targets"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tests, err := Parse("a.yaml", text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error has several lines: %v", err)
		}
		if _, err := Run(tests, manifest.NewSet(), &generator.Output{}); err != nil {
			t.Error(err)
		}
	})
}

func open(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func file(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// held compares a text with want.txt, or writes that file.
func held(t *testing.T, archive *txtar.Archive, name, text string, write bool) {
	t.Helper()
	if write {
		for i := range archive.Files {
			if archive.Files[i].Name == "want.txt" {
				archive.Files[i].Data = []byte(text)
			}
		}
		if err := os.WriteFile(filepath.Join("testdata", name+".txtar"), txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(file(archive, "want.txt")), text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
