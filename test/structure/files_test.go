package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// productFiles are the Go files of the product, without its tests, from the root of the tree.
func productFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"cmd", "generator", "gitsync", "inputs", "internal", "sd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			name, err = filepath.Rel(root, name)
			files = append(files, filepath.ToSlash(name))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	return files
}

// parse reads a file of the tree, with its comments.
func parse(t *testing.T, name string) (*ast.File, *token.FileSet) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, filepath.Join(root, name), nil,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, positions
}
