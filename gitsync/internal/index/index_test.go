package index_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/gitsync/internal/index"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

func sample() *index.Index {
	web := manifest.ID{Kind: "ServiceMonitor", Namespace: "a", Name: "web"}
	cause := diag.Cause{Things: "charts", Reason: "away"}
	layout := &inputs.StoredLayout{Roots: map[string]string{"k/kustomization.yaml": "k"}, ChartFolders: []string{"c"},
		Covered: map[string]bool{"k": true}, Reads: tree.Reads{"k": "folder"},
		Refs: map[string]inputs.Refs{"k": {Refs: kustomize.Refs{IsComponent: true, Files: map[string]bool{"k/a": true}},
			Reads: tree.Reads{"k/a": "file"}}}}
	files := []source.StoredFile{
		{Path: "in/a.yaml", Blob: [20]byte{1}, Count: 1, Sum: [32]byte{2}, Heads: &manifest.Heads{
			Objects: []*manifest.Object{{ID: web, APIVersion: "monitoring.coreos.com/v1",
				Labels: manifest.Labels{{Name: "team", Value: "a"}}, HasValue: true, Digest: [32]byte{3}, Bytes: 9,
				Targets: []manifest.TargetNamespaces{{Path: "spec", Names: []string{"b"}}}}},
			Begins:  []manifest.Begin{{Line: 2, Column: 1}},
			Diags:   diag.List{{Severity: diag.Warning, Code: diag.Unselected, Cause: cause, Line: 3}},
			Ignored: map[string]int{"v1 Service": 2}}},
		{Path: "in/b.yaml", Blob: [20]byte{4}},
	}
	return &index.Index{
		Sources: []source.Stored{{}, {Own: [20]byte{6}, Mounted: map[string]plumbing.Hash{"@lib": {7}}, Hidden: 1,
			Ignoring: []string{"in"}, Layout: layout, Files: files}},
		Units: []plan.StoredUnit{{Folder: [20]byte{5}, StoredUnit: generator.StoredUnit{
			Name: "a/agent", Runtime: "agent", Files: []generator.File{{Path: "x.yaml", Object: web, Manifest: true}},
			Inputs: []manifest.ID{web}, Jobs: map[manifest.ID]int{web: 1}, Matched: map[int]bool{1: true},
			Needs:   []rbac.Need{{Right: rbac.Right{Resource: "pods"}, Others: 1}},
			Names:   &explain.Names{Unit: "a/agent", Text: []byte("job"), Rows: []explain.NameRow{{Text: 3, Group: 2}}},
			Objects: []int{0}, Dependencies: map[manifest.ID]int{web: 0, {Kind: "Secret"}: -1}, About: "text"}}},
	}
}

func write(t *testing.T, key index.Key) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "index", "one")
	if err := sample().Write(name, key); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	got, err := index.Read(write(t, index.Key{1}), index.Key{1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got, cmpopts.IgnoreUnexported(manifest.Object{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestAllOfAFileIsKept: each field that others can set is read as it was written.
func TestAllOfAFileIsKept(t *testing.T) {
	t.Parallel()
	var want source.StoredFile
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n)
	name := filepath.Join(t.TempDir(), "one")
	files := slices.Repeat([]source.StoredFile{want}, 5000)
	if err := (&index.Index{Sources: []source.Stored{{Files: files}}}).Write(name, index.Key{}); err != nil {
		t.Fatal(err)
	}
	got, err := index.Read(name, index.Key{})
	if err != nil {
		t.Fatal(err)
	}
	ignored := cmpopts.IgnoreUnexported(manifest.Object{}, diag.Diagnostic{})
	if diff := cmp.Diff(files, got.Sources[0].Files, ignored); diff != "" {
		t.Error(diff)
	}
}

// fill sets each field of a value to something that differs from the others.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 251))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[diag.Diagnostic]() {
			v.Set(reflect.ValueOf(diag.Diagnostic{Severity: diag.Warning, Line: *n}))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n)
			}
		}
	}
}

func TestADamagedOrForeignFileIsNone(t *testing.T) {
	t.Parallel()
	name := write(t, index.Key{1})
	if x, err := index.Read(name, index.Key{2}); err == nil {
		t.Error("an index of another pipeline: ", x)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, damaged []byte) {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := index.Read(name, index.Key{1}); err == nil {
			t.Errorf("%s at %d of %d bytes is not noticed", what, at, len(data))
		}
	}
	for at := 0; at < len(data); at += 5 {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		check("a flipped bit", at, damaged)
		check("an end", at, data[:at])
	}
	check("a further byte", len(data), append(bytes.Clone(data), 0))
}

// TestAnIndexIsForNobodyElse: it says which Secrets there are, as the cache of the repository does.
func TestAnIndexIsForNobodyElse(t *testing.T) {
	t.Parallel()
	name := write(t, index.Key{})
	for _, of := range []string{name, filepath.Dir(name)} {
		if info, err := os.Stat(of); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", of, info.Mode(), err)
		}
	}
}

func TestWhatNobodyReadsIsRemoved(t *testing.T) {
	t.Parallel()
	name := write(t, index.Key{})
	old, read := filepath.Join(filepath.Dir(name), "old"), filepath.Join(filepath.Dir(name), "read")
	long := time.Now().Add(-40 * 24 * time.Hour)
	for _, of := range []string{old, read} {
		if err := sample().Write(of, index.Key{}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(of, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := index.Read(read, index.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := sample().Write(name, index.Key{}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"))
	if diff := cmp.Diff([]string{name, read}, left); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
