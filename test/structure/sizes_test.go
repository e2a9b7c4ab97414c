package structure

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits of what one person can hold in mind at a time.
const (
	maxMethods         = 30  // of a type
	maxFilesOfAType    = 6   // that hold methods of one type
	maxFilesOfAPackage = 20  // without tests and generated files
	maxLinesOfAFunc    = 60  // with its signature
	maxLinesOfAFile    = 400 // with its comments
)

func TestTypesPackagesFunctionsAndFilesAreSmall(t *testing.T) {
	sizes := measure(t, productFiles(t))
	for _, what := range slices.Sorted(maps.Keys(sizes)) {
		if size := sizes[what]; size.n > size.limit {
			t.Errorf("%s: %d, the limit is %d", what, size.n, size.limit)
		}
	}
}

// size is how much there is of something, and how much there may be.
type size struct{ n, limit int }

// measure returns the size of each type, package, function and file, by what it is.
func measure(t *testing.T, files []string) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	count := func(n, limit int, what string, args ...any) {
		what = fmt.Sprintf(what, args...)
		sizes[what] = size{sizes[what].n + n, limit}
	}
	for _, name := range files {
		parsed, positions := parse(t, name)
		if ast.IsGenerated(parsed) {
			continue
		}
		dir := path.Dir(name)
		count(1, maxFilesOfAPackage, "files of package %s", dir)
		count(positions.File(parsed.Pos()).LineCount(), maxLinesOfAFile, "lines of file %s", name)
		receivers := map[string]bool{}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := positions.Position(f.End()).Line - positions.Position(f.Pos()).Line + 1
			receiver, name := receiverOf(f), f.Name.Name
			if receiver != "" {
				name = receiver + "." + name
			}
			count(lines, maxLinesOfAFunc, "lines of function %s.%s", dir, name)
			if receiver != "" {
				count(1, maxMethods, "methods of type %s.%s", dir, receiver)
				receivers[receiver] = true
			}
		}
		for receiver := range receivers {
			count(1, maxFilesOfAType, "files with methods of %s.%s", dir, receiver)
		}
	}
	return sizes
}

// receiverOf is the name of the type that a method belongs to, empty for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	for e := f.Recv.List[0].Type; ; {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

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
	parsed, err := parser.ParseFile(positions, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, positions
}
