package structure

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

// printed is a diagnostic as it is printed: on pages, and in what fixtures expect.
var printed = regexp.MustCompile(`\b(error|warning|info)\[([a-z0-9]+(?:-[a-z0-9]+)*)\]`)

// computed stands for a severity that is not a constant.
const computed diag.Severity = ""

// TestSeveritiesAreDocumented: docs/diagnostics.md says of each code which severities it has. Those are the ones
// that the code gives it, that fixtures expect, and that pages show.
func TestSeveritiesAreDocumented(t *testing.T) {
	found := map[diag.Code]map[diag.Severity]bool{}
	note := func(where string, code diag.Code, severity diag.Severity) {
		info, ok := diag.Lookup(code)
		if !ok {
			return // of a test of the printers
		}
		if severity != computed && !slices.Contains(info.Severities, severity) {
			t.Errorf("%s: %s is %s; the manual says %s", where, code, severity, info.Severities)
		}
		if found[code] == nil {
			found[code] = map[diag.Severity]bool{}
		}
		found[code][severity] = true
	}
	inTexts(t, note)
	inSource(t, note)
	for _, c := range diag.Codes() {
		for _, severity := range c.Severities {
			// Where the code computes the severity, it cannot be seen.
			if len(c.Severities) > 1 && !found[c.Code][severity] && !found[c.Code][computed] {
				t.Errorf("the manual says that %s may be %s; nothing gives it that", c.Code, severity)
			}
		}
	}
}

// inTexts notes what pages and fixtures show.
func inTexts(t *testing.T, note func(string, diag.Code, diag.Severity)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".md", ".txtar", ".txt"}, filepath.Ext(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		for _, match := range printed.FindAllStringSubmatch(string(text), -1) {
			note(name, diag.Code(match[2]), diag.Severity(match[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inSource notes what the code gives: diag.Code.At(...) the first severity of the code, or another one with As(...); a
// call or a value that names a severity and a code; and calls of warn, error and fail.
func inSource(t *testing.T, note func(string, diag.Code, diag.Severity)) {
	t.Helper()
	codes := codeConstants(t)
	for _, name := range productFiles(t) {
		file, _ := parse(t, name)
		changed := map[ast.Node]bool{} // calls of At whose severity As replaces
		ast.Inspect(file, func(n ast.Node) bool {
			code, severity := given(n, codes)
			if call, ok := n.(*ast.CallExpr); ok {
				at, as := chain(call, "At"), chain(call, "As")
				switch {
				case as == call && at != nil:
					changed[at] = true
					code = receiver(at, codes)
				case at == call && !changed[n]:
					code = receiver(call, codes)
					severity = code.Severity()
				case at != nil:
					return true
				}
			}
			// An error that follows another one is made a warning later.
			if code != "" && code != diag.FollowsError {
				note(name, code, severity)
			}
			return true
		})
	}
}

// receiver returns the code whose method is called, or "" if it is not a constant.
func receiver(call *ast.CallExpr, codes map[string]diag.Code) diag.Code {
	s, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.SelectorExpr)
	if !ok || !isPackage(s.X, "diag") {
		return ""
	}
	return codes[s.Sel.Name]
}

// chain returns the call of a method in a chain of calls that ends with one, or nil.
func chain(call *ast.CallExpr, method string) *ast.CallExpr {
	for call != nil {
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || f.Sel.Name == method {
			if !ok {
				return nil
			}
			return call
		}
		call, _ = f.X.(*ast.CallExpr)
	}
	return nil
}

// given returns the code and the severity that a call or a value names.
func given(n ast.Node, codes map[string]diag.Code) (code diag.Code, severity diag.Severity) {
	var parts []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		parts = n.Args
		if f, ok := n.Fun.(*ast.SelectorExpr); ok {
			severity = map[string]diag.Severity{"warn": diag.Warning, "error": diag.Error,
				"fail": diag.Error}[f.Sel.Name]
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			parts = append(parts, e)
		}
	}
	for _, p := range parts {
		s, ok := p.(*ast.SelectorExpr)
		if !ok || !isPackage(s.X, "diag") {
			continue
		}
		switch s.Sel.Name {
		case "Error":
			severity = diag.Error
		case "Warning":
			severity = diag.Warning
		case "Info":
			severity = diag.Info
		}
		if found, ok := codes[s.Sel.Name]; ok {
			code = found
		}
	}
	return code, severity
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// codeConstants maps the names of the codes' constants to the codes.
func codeConstants(t *testing.T) map[string]diag.Code {
	t.Helper()
	constant := regexp.MustCompile(`(?m)^\t([A-Z]\w*) +Code = "([a-z0-9-]+)"`)
	text, err := os.ReadFile(filepath.Join(root, "generator/diag/codes.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]diag.Code{}
	for _, match := range constant.FindAllStringSubmatch(string(text), -1) {
		out[match[1]] = diag.Code(match[2])
	}
	if len(out) == 0 {
		t.Fatal("no codes")
	}
	return out
}
