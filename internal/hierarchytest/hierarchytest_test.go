package hierarchytest

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
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
	tests, found := Read(manifest.File{Path: "tests.yaml", Data: file(archive, "tests.yaml")})
	if len(found) > 0 {
		t.Fatal(found)
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
		if !MayHoldTest(f.Data) {
			t.Errorf("%s is not taken for a test", f.Name)
		}
		tests, found := Read(manifest.File{Path: f.Name, Data: f.Data})
		if !found.HasErrors() {
			t.Errorf("%s is accepted: %v", f.Name, tests)
			continue
		}
		input := func(string, string) []byte { return f.Data }
		if err := (diag.Text{Input: input}).Print(&got, found); err != nil {
			t.Fatal(err)
		}
	}
	held(t, archive, "bad", got.String(), *update)
}

func TestOtherDocumentsAreSkipped(t *testing.T) {
	for _, text := range []string{"kind: HierarchyTest\napiVersion: other.example.com/v1\n", "", "a: b\n---\n",
		"- kind: HierarchyTest\n"} {
		if tests, found := Read(manifest.File{Path: "a.yaml", Data: []byte(text)}); len(found) > 0 || tests != nil {
			t.Errorf("%q: %v, %v", text, tests, found)
		}
	}
}

func TestFilesThatMayHoldTests(t *testing.T) {
	for text, want := range map[string]bool{
		"kind: HierarchyTest\n": true, "'kind': \"HierarchyTest\" # of the shop\n": true,
		`{"apiVersion": "agentry.dev/v1alpha1", "kind":"HierarchyTest"}`: true,
		"{\n  \"kind\": \"HierarchyTest\"\n}":                            true,
		"kind: HierarchyTest\r\nmetadata: {}\r\n":                        true, "spec:\n  kind: HierarchyTest\n": false,
		"kind: HierarchyTests\n": false, "kind: Pipeline\n": false,
		"a HierarchyTest of this kind\n": false, "mankind: HierarchyTest\n": false,
	} {
		if got := MayHoldTest([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestATooLongFileIsRefused(t *testing.T) {
	const item = "    - {object: Probe/a/b, by: []}\n"
	test := func(cases int) manifest.File {
		return manifest.File{Path: "a.yaml", Data: []byte("apiVersion: agentry.dev/v1alpha1\nkind: HierarchyTest\n" +
			"metadata: {name: long}\nspec:\n  selected:\n" + strings.Repeat(item, cases))}
	}
	if tests, found := Read(test(MaxCases)); len(found) > 0 || len(tests[0].Spec.Selected) != MaxCases {
		t.Errorf("%d cases: %v", MaxCases, found)
	}
	if _, found := Read(test(MaxCases + 1)); !found.HasErrors() {
		t.Errorf("%d cases are accepted", MaxCases+1)
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

// TestSchema: editors accept the test of the quickstart, and mark an unknown field.
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
}

func FuzzRead(f *testing.F) {
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
		tests, found := Read(manifest.File{Path: "a.yaml", Data: text})
		if found.HasErrors() {
			return
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
