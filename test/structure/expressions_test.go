package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestExpressionsAreValid compiles the expressions of package lazyregexp, which panics at their first use otherwise.
func TestExpressionsAreValid(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		positions, constants := token.NewFileSet(), map[string]ast.Expr{}
		var expressions []ast.Expr
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, value := range n.Values {
						constants[n.Names[i].Name] = value
					}
				case *ast.CallExpr:
					if isExpression(n) {
						expressions = append(expressions, n.Args[0])
					}
				}
				return true
			})
		}
		for _, e := range expressions {
			checked++
			if text := textOf(e, constants); text == "" {
				t.Errorf("%s: is no constant of its package", positions.Position(e.Pos()))
			} else if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", positions.Position(e.Pos()), err)
			}
		}
		return nil
	})
	if err != nil || checked < 80 {
		t.Errorf("%d expressions checked: %v", checked, err)
	}
}

func isExpression(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "New" {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "lazyregexp"
}

// textOf returns the text of a constant expression, or nothing if it is another one.
func textOf(e ast.Expr, constants map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.BinaryExpr:
		return textOf(e.X, constants) + textOf(e.Y, constants)
	case *ast.Ident:
		if value, found := constants[e.Name]; found {
			return textOf(value, constants)
		}
	}
	return ""
}
