package diag

import (
	"cmp"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files and the manual")

var kebabCase = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestEveryCodeIsDocumentedOnce(t *testing.T) {
	documented := map[Code]int{}
	for _, c := range Codes() {
		documented[c.Code]++
		if !kebabCase.MatchString(string(c.Code)) {
			t.Errorf("code %q is not lower-case words joined by dashes", c.Code)
		}
		if !strings.HasSuffix(c.Summary, ".") || !strings.HasSuffix(c.Help, ".") {
			t.Errorf("code %q: summary and help must be sentences", c.Code)
		}
		order := []Severity{Error, Warning, Info}
		if !slices.IsSortedFunc(c.Severities, func(a, b Severity) int {
			return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
		}) || slices.ContainsFunc(c.Severities, func(s Severity) bool { return !slices.Contains(order, s) }) {
			t.Errorf("code %q has the severities %q, not some of %q in this order", c.Code, c.Severities, order)
		}
	}
	for name, code := range codeConstants(t) {
		if documented[code] != 1 {
			t.Errorf("constant %s (%q) is documented %d times, want once", name, code, documented[code])
		}
		delete(documented, code)
	}
	for code := range documented {
		t.Errorf("code %q is documented but has no constant, or two", code)
	}
}

// codeConstants reads the constants of type Code out of the package's source, since a
// constant that is in no list can be found in no other way.
func codeConstants(t *testing.T) map[string]Code {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]Code{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !isIdent(spec.Type, "Code") {
				return true
			}
			for i, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s: constant %s is not a string literal", file, spec.Names[i].Name)
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[spec.Names[i].Name] = Code(text)
			}
			return true
		})
	}
	return codes
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestLookup(t *testing.T) {
	if info, ok := Lookup(DeletionGuard); !ok || info.Code != DeletionGuard {
		t.Errorf("Lookup(%q) = %v, %v", DeletionGuard, info, ok)
	}
	if _, ok := Lookup("no-such-code"); ok {
		t.Error("an unknown code was found")
	}
}

//go:generate go test . -run TestManualIsUpToDate -update

func TestManualIsUpToDate(t *testing.T) {
	title, rest, _ := strings.Cut(page, "\n\n")
	golden(t, filepath.FromSlash("../../docs/diagnostics.md"), title+"\n\n"+
		"<!-- Copied from generator/diag/codes.md by \"make generate\". Do not edit. -->\n\n"+rest+
		"\nWhat to read next: [holding](holding.md), [what is read](input.md), [the command line](cli.md).\n")
}

// golden compares with the content of a file, or with -update writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", file, diff)
	}
}
