package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
)

// summary is a set without the places that its objects were read from.
func summary(s *Set) map[ID][32]byte {
	out := map[ID][32]byte{}
	for _, o := range s.All() {
		out[o.ID] = o.Digest
	}
	return out
}

// TestSetDoesNotDependOnFiles reads the same documents in one file, in many, and shuffled.
func TestSetDoesNotDependOnFiles(t *testing.T) {
	for name, data := range corpusFiles(t) {
		var documents [][]byte
		for d := range stream.Documents(data) {
			documents = append(documents, d.Text)
		}
		want := summary(NewSet(Parse(File{Data: data}, Options{})))
		random := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
			merged := Parse(File{Data: bytes.Join(documents, []byte("\n---\n"))}, Options{})
			var split []Result
			for i, d := range documents {
				split = append(split, Parse(File{Path: fmt.Sprint(i), Data: d}, Options{}))
			}
			for how, set := range map[string]*Set{"merged": NewSet(merged), "split": NewSet(split...)} {
				if got := slices.Collect(maps.Keys(summary(set))); len(got) != len(want) {
					t.Errorf("%s: %d objects when %s, want %d", name, len(got), how, len(want))
				}
				for id := range want {
					if set.Get(id) == nil {
						t.Errorf("%s: no %s when %s", name, id, how)
					}
				}
			}
		}
	}
}

// TestObjectsReadEqualWhenWritten writes every object and reads it again.
func TestObjectsReadEqualWhenWritten(t *testing.T) {
	for name, data := range corpusFiles(t) {
		for _, o := range Parse(File{Data: data}, Options{}).Objects {
			again := rewrite(t, o)
			if len(again) != 2 {
				t.Errorf("%s: %s is not read again", name, o.ID)
			}
			for _, a := range again {
				sameValue(t, o, a)
			}
		}
	}
}

func sameValue(t *testing.T, first, again *Object) {
	t.Helper()
	if first.ID != again.ID || !equality.Semantic.DeepEqual(first.Value(), again.Value()) {
		t.Errorf("%s (-first +again):\n%s", first.ID, cmp.Diff(first.Value(), again.Value()))
	}
}

// rewrite writes an object as YAML and as JSON, and returns what is read from them, as far
// as that is valid.
func rewrite(t *testing.T, o *Object) []*Object {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Value())
	if err != nil {
		t.Fatal(err)
	}
	raw["apiVersion"], raw["kind"] = o.APIVersion, o.Kind
	delete(raw, "status")
	text, err := yaml.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return append(Parse(File{Data: text}, Options{}).Objects, Parse(File{Data: asJSON}, Options{}).Objects...)
}

// TestBothConversionsAgree holds the fast conversion to Go values to the one by JSON.
func TestBothConversionsAgree(t *testing.T) {
	for name, data := range corpusFiles(t) {
		for d := range stream.Documents(data) {
			value, _, err := yamlvalue.Decode(string(d.Text))
			if err != nil {
				t.Fatal(err)
			}
			raw := value.(map[string]any)
			apiVersion, kind := raw["apiVersion"].(string), raw["kind"].(string)
			if apiVersion == coreVersion {
				continue
			}
			fast, slow := newValue(apiVersion, kind), newValue(apiVersion, kind)
			fastErr := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, fast)
			slowErr := convert(raw, slow)
			if (fastErr == nil) != (slowErr == nil) {
				t.Errorf("%s: %v, by JSON %v", name, fastErr, slowErr)
			} else if fastErr == nil {
				if diff := cmp.Diff(slow, fast); diff != "" {
					t.Errorf("%s: %s (-by JSON +fast):\n%s", name, kind, diff)
				}
			}
		}
	}
}

func TestPlainNamesAreValid(t *testing.T) {
	parse := func(meta map[string]any) bool {
		data, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
		if err != nil {
			t.Fatal(err)
		}
		return len(Parse(File{Data: data}, Options{}).Objects) == 1
	}
	alphabet := []string{"a", "Z", "0", "-", "_", ".", "/", "é", strings.Repeat("x", 62), strings.Repeat("y.", 120)}
	random := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		s := b.String()
		if isPlainName(s) {
			plain++
			if errs := nameErrors(s); len(errs) > 0 {
				t.Errorf("name %q: %v", s, errs)
			}
		}
		if isPlainKey(s) {
			plain++
			if errs := keyErrors(s); len(errs) > 0 {
				t.Errorf("key %q: %v", s, errs)
			}
		}
		if isPlainValue(s) {
			plain++
			if errs := valueErrors(s); len(errs) > 0 {
				t.Errorf("value %q: %v", s, errs)
			}
		}
	}
	if plain < 1000 {
		t.Errorf("only %d plain names", plain)
	}
	if !parse(map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{"a": "b"}}) {
		t.Error("a plain object is not read")
	}
}

// FuzzParse feeds files of any content: nothing may panic, every position must be in the
// file, and what is read must be read again as it is.
func FuzzParse(f *testing.F) {
	for _, data := range corpusFiles(f) {
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	for _, seed := range []string{
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: " +
			"{a: ?}}]",
		"{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"\\ud83d\"}}{}",
		"--- &a\napiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a, namespace: b, labels: {<<: *m}}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		result := Parse(File{Path: "f", Data: data}, Options{DefaultNamespace: "x"})
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, d := range result.Diags {
			if d.Line < 0 || d.Line > lines || d.Column < 0 || d.Code == "" || d.Message == "" {
				t.Errorf("diagnostic %v in a file of %d lines", d, lines)
			}
			if _, known := diag.Lookup(d.Code); !known {
				t.Errorf("code %q is not documented", d.Code)
			}
		}
		if result.Diags.HasErrors() != (result.Broken > 0 || len(result.Invalid) > 0) {
			t.Errorf("broken %d, invalid %v, but %v", result.Broken, result.Invalid, result.Diags)
		}
		for _, o := range result.Objects {
			meta := o.Value().(typed).GetObjectMeta()
			if meta.GetName() != o.Name || meta.GetNamespace() != o.Namespace {
				t.Errorf("metadata of %s: %v", o.ID, meta)
			}
			// A Go value has fields that were absent, which get their defaults when they are
			// written and read. From then on nothing changes.
			for _, second := range rewrite(t, o) {
				for _, third := range rewrite(t, second) {
					sameValue(t, second, third)
				}
			}
		}
	})
}

// TestConcurrentParse is for the race detector.
func TestConcurrentParse(t *testing.T) {
	files := corpusFiles(t)
	done := make(chan error)
	for range 4 {
		go func() {
			for name, data := range files {
				if strings.HasPrefix(name, "bad-") {
					continue
				}
				if result := Parse(File{Path: name, Data: data}, Options{}); len(result.Diags) > 0 {
					done <- errors.New(result.Diags[0].String())
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestAtIsParseAtAnotherPath moves the results of all fixtures.
func TestAtIsParseAtAnotherPath(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	shape := func(r Result) any {
		var out []string
		for _, list := range [][]*Object{r.Objects, r.LeftOut} {
			for _, o := range list {
				file, begins, at := o.Written()
				line, column := o.Position("spec")
				value, _ := json.Marshal(o.Value())
				out = append(out, fmt.Sprint(o.ID, o.Labels, o.Annotations, o.Targets, o.Digest, o.File(), file,
					begins, at, line, column, o.Text(), string(o.Passed()), string(value)))
			}
		}
		return []any{out, r.Diags, r.Ignored, r.Invalid, r.Broken}
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			opts := Options{DefaultNamespace: "m"}
			here := Parse(File{Source: "s", Path: "here.yaml", Data: f.Data}, opts)
			before := shape(here)
			there := Parse(File{Source: "s", Path: "there.yaml", Data: f.Data}, opts)
			if diff := cmp.Diff(shape(there), shape(here.At("there.yaml", nil))); diff != "" {
				t.Errorf("%s: %s (-read there +moved):\n%s", name, f.Name, diff)
			}
			if diff := cmp.Diff(before, shape(here)); diff != "" {
				t.Errorf("%s: %s: what was moved has changed:\n%s", name, f.Name, diff)
			}
			again := func() ([]byte, error) { return f.Data, nil }
			released := Parse(File{Source: "s", Path: "here.yaml", Data: f.Data, Again: again}, opts)
			moved := released.At("there.yaml", again)
			for _, r := range []Result{released, moved} {
				if r.Release(); r.IsReleased() == (len(r.Rights) > 0) {
					t.Fatalf("released: %t, with %d Roles and bindings", r.IsReleased(), len(r.Rights))
				}
			}
			if diff := cmp.Diff(before, shape(released)); diff != "" {
				t.Errorf("%s: %s (-kept +read again):\n%s", name, f.Name, diff)
			}
			for _, r := range []Result{moved, released.At("there.yaml", again)} {
				if diff := cmp.Diff(shape(there), shape(r)); diff != "" || r.IsReleased() == (len(r.Rights) > 0) {
					t.Errorf("%s: %s (-read there +moved and read again):\n%s", name, f.Name, diff)
				}
			}
		}
	}
}
