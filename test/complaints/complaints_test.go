// Package complaints holds the tests to the list of what users of other programs complain about,
// which the issues refer to by number: each number has a test named after it, or a reason.
package complaints

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// count is how many complaints there are, from 1 on.
const count = 42

// without are those that have no test, and why.
func without() map[int]string {
	const sops = "is about SOPS, which has an issue of its own"
	return map[int]string{19: sops, 39: sops, 40: sops}
}

// TestEachComplaintHasATest reads all tests of the module.
func TestEachComplaintHasATest(t *testing.T) {
	tests := map[int][]string{}
	name := regexp.MustCompile(`^TestComplaint(\d\d)_\w+$`)
	for _, file := range testFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "TestComplaint") {
				continue
			}
			found := name.FindStringSubmatch(f.Name.Name)
			if found == nil {
				t.Errorf("%s: %s is not named TestComplaintNN_What", file, f.Name.Name)
				continue
			}
			n, _ := strconv.Atoi(found[1]) // two digits
			tests[n] = append(tests[n], f.Name.Name)
		}
	}
	for n := 1; n <= count; n++ {
		reason := without()[n]
		switch {
		case len(tests[n]) == 0 && reason == "":
			t.Errorf("complaint %d has no test and no reason", n)
		case len(tests[n]) > 0 && reason != "":
			t.Errorf("complaint %d has %v, and the reason not to have it: %s", n, tests[n], reason)
		}
		delete(tests, n)
	}
	for n, names := range tests {
		t.Errorf("there is no complaint %d, of %v", n, names)
	}
}

// testFiles are the files with tests of this module and of those in its folders.
func testFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, "_test.go") {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
