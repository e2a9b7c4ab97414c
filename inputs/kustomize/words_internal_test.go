package kustomize

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentry-dev/agentry/inputs/tree"
)

var update = flag.Bool("update", false, "write phrases.txt")

// verb matches a placeholder of a format.
var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z%]`)

// TestPhrasesAreThoseOfKustomize compares phrases.txt with the formats of errors in the source of kustomize's library.
func TestPhrasesAreThoseOfKustomize(t *testing.T) {
	found := map[string]bool{}
	for _, module := range []string{"sigs.k8s.io/kustomize/api", "sigs.k8s.io/kustomize/kyaml"} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		top := strings.TrimSpace(string(dir))
		err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				addPhrases(t, found, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for phrase := range found {
		list = append(list, phrase)
	}
	slices.Sort(list)
	want := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile("phrases.txt", []byte(want), 0o644); err != nil { //nolint:gosec // it is no secret
			t.Fatal(err)
		}
		return
	}
	if phrases != want {
		t.Error("phrases.txt is not that of the library: go test ./inputs/kustomize -run Phrases -update")
	}
}

// TestOnlyPhrasesAndNamesAreShown: a word that is next to a phrase, or looks like one, is not.
func TestOnlyPhrasesAndNamesAreShown(t *testing.T) {
	files := fstest.MapFS{
		"top/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"top/a.yaml": {Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n" +
			"stringData: {a: hunter2}\n")},
	}
	c := newChecker(tree.New(t.Context(), files))
	if err := c.folder("top", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.tree.ReadFile("top/a.yaml"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"accumulating resources: accumulation err='accumulating resources from 'a.yaml': hunter2': must build at " +
			"directory: '/top/b/hunter2'": "accumulating resources: accumulation err … accumulating resources from a.yaml " +
			"… must build at directory …",
		"hunter2":                                     "",
		"not found":                                   "not found",
		"not foundhunter2":                            "",
		"xnot found":                                  "",
		"Secret.v1.[noGrp]/db.[noNs]":                 "",
		"not found Secret.v1/db.default":              "not found Secret/db",
		"not found Secret.v1/dbhunter2":               "not found …",
		"not found hunter2.v1/db":                     "not found …",
		"not found 'hunter2\nhunter2'":                "not found …",
		"\x00hunter2\xff not found":                   "… not found",
		"not found " + strings.Repeat("a.yaml ", 500): "not found" + strings.Repeat(" a.yaml", 56) + " …",
	} {
		if got := c.words(text); got != want {
			t.Errorf("%.60q: got  %s\nwant %s", text, got, want)
		}
	}
}

// addPhrases adds the fixed parts of the errors in a Go file.
func addPhrases(t *testing.T, found map[string]bool, name string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "Error" && f.Body != nil {
			ast.Inspect(f.Body, func(n ast.Node) bool { addFormat(found, n); return true })
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Errorf", "New", "Wrap", "Wrapf", "WrapPrefixf"}, called.Sel.Name) {
			for _, arg := range call.Args {
				addFormat(found, arg)
			}
		}
		return true
	})
}

// addFormat adds the fixed parts of a format: several words between placeholders. A single word could be a value.
func addFormat(found map[string]bool, n ast.Node) {
	text, ok := literal(n)
	if !ok {
		return
	}
	for _, part := range verb.Split(text, -1) {
		part = strings.Join(strings.Fields(part), " ")
		part = strings.Trim(part, " '`\"(),;:.=[]{}<>")
		if len(part) >= 8 && strings.Contains(part, " ") {
			found[part] = true
		}
	}
}

// literal returns a string literal, or several with + between them.
func literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		a, isA := literal(n.X)
		b, isB := literal(n.Y)
		return a + b, isA && isB && n.Op == token.ADD
	}
	return "", false
}
