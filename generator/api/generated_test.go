package api_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedFilesAreFresh generates into a temporary directory and compares, so that a
// changed type, an edited CRD and an updated module all show.
func TestGeneratedFilesAreFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generators, which takes half a minute: make race runs it")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	touchInputs(t, root)
	fresh := t.TempDir()
	generate := exec.Command("go", "run", "./generate", root, fresh)
	generate.Dir = filepath.Join(root, "internal", "tools")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}

	files := 0
	err = filepath.WalkDir(fresh, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		name, err := filepath.Rel(fresh, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale, run \"make generate\" (-generated +committed):\n%s", name, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("nothing was generated")
	}
	for _, pattern := range []string{"generator/api/crds/*.yaml", "generator/manifest/internal/schema/crds/*.json"} {
		want, _ := filepath.Glob(filepath.Join(fresh, pattern))
		got, _ := filepath.Glob(filepath.Join(root, pattern))
		if len(want) != len(got) {
			t.Errorf("%s: %d files are committed, %d are generated", pattern, len(got), len(want))
		}
	}
}

// touchInputs reads what the generator reads, so that "go test" does not take a result from
// its cache when any of it changed.
func touchInputs(t *testing.T, root string) {
	t.Helper()
	for _, pattern := range []string{
		"go.mod", "generator/api/v1alpha1/*.go", "internal/tools/go.mod", "internal/tools/generate/*.go",
		"internal/tools/generate/*.md", "gitsync/pipeline/*.go", "generator/compile/integration/*.go",
		"generator/ignore/*.go", "generator/mirror/*.go", "generator/patch/*.go",
		"generator/selfmonitoring/*.go", "generator/tenancy/*.go", "inputs/helm/*.go",
		"charts/*/values.schema.json",
	} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, path := range paths {
			if _, err := os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
