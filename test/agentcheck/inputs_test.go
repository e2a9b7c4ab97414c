package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// input is something to render: a file or a folder.
type input struct {
	name, path string
	mode       string // of compatibility
	example    bool
}

// inputs are all conformance cases, examples, and scenarios of the generator's tests.
func inputs(t *testing.T) []input {
	t.Helper()
	var out []input
	for _, path := range glob(t, "../conformance/operator/*/input.yaml") {
		out = append(out, input{name: "operator/" + filepath.Base(filepath.Dir(path)), path: path, mode: "operator"})
	}
	for _, path := range glob(t, "../../generator/testdata/*.txtar") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nreal agents: cannot start")) {
			continue
		}
		dir, mode := unpack(t, path)
		out = append(out, input{name: "generator/" + filepath.Base(path), path: dir, mode: mode})
	}
	for _, path := range glob(t, "../../examples/*") {
		out = append(out, input{name: "examples/" + filepath.Base(path), path: path, mode: "operator", example: true})
	}
	return out
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s, %v", pattern, err)
	}
	return names
}

// unpack writes the files below in/ of a scenario to a folder. It returns the folder and the compatibility mode.
func unpack(t *testing.T, name string) (dir, mode string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, mode = t.TempDir(), "operator"
	if strings.Contains(string(archive.Comment), "compatibility: current\n") {
		mode = "current"
	}
	for _, f := range archive.Files {
		file, ok := strings.CutPrefix(f.Name, "in/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, mode
}
