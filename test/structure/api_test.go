package structure

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files of testdata/api")

// api are the packages that other programs may use. All others may change in every release.
var api = []string{
	"generator", "generator/api/v1alpha1", "generator/diag", "generator/difference", "generator/manifest", "gitsync",
	"gitsync/pipeline", "gitsync/repo/transport", "sd", "sd/discover",
}

// TestTheAPIIsMeant compares what the packages of the API declare with testdata/api, so that each change of it is one
// that somebody has looked at.
func TestTheAPIIsMeant(t *testing.T) {
	for _, name := range api {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "api", strings.ReplaceAll(name, "/", "-")+".txt")
			got := declared(t, filepath.Join(root, filepath.FromSlash(name)))
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s declares something else than %s says; if that is meant, run go test ./test/structure "+
					"-run %s -update, and note in CHANGELOG.md what other programs must change", name, golden, t.Name())
			}
		})
	}
}

// declared returns the exported declarations of a package, without comments and bodies, a file after the other.
func declared(t *testing.T, dir string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	var declarations []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if d.Tok == token.IMPORT || len(d.Specs) == 0 {
					continue
				}
			case *ast.FuncDecl:
				if isHidden(d) {
					continue
				}
				d.Body = nil
			}
			var b strings.Builder
			if err := printer.Fprint(&b, files, d); err != nil {
				t.Fatal(err)
			}
			declarations = append(declarations, b.String())
		}
	}
	slices.Sort(declarations)
	return []byte(strings.Join(declarations, "\n") + "\n")
}

// isHidden reports whether a function is a method of a type that is not exported.
func isHidden(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	name, ok := of.(*ast.Ident)
	return ok && !name.IsExported()
}
