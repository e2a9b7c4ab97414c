// Package imports holds the packages to the order in which they may use each other, so
// that the renderer stays a pure function that others can build on.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agentry-dev/agentry"

// allowed maps the packages of the generator to what they may import of this module.
// Packages below an internal folder of their own are theirs.
func allowed() map[string][]string {
	return map[string][]string{
		"generator/api":         {},
		"generator/diag":        {},
		"generator/model":       {"generator/diag", "generator/internal/expand"},
		"generator/internal":    {"generator/diag", "generator/model", "internal/expression"},
		"generator/passthrough": {"generator/diag"},
		"generator/manifest": {"generator/api", "generator/diag", "generator/passthrough",
			"generator/internal", "internal/panics"},
		"generator/mirror":    {"generator/manifest", "internal/expression"},
		"generator/hierarchy": {"generator/api", "generator/diag", "generator/manifest"},
		"generator/secretref": {"generator/api", "generator/diag", "generator/manifest", "generator/mirror",
			"generator/hierarchy", "generator/model"},
		"generator/internal/podrules": {},
		"generator/internal/podspec": {"generator/api", "generator/diag", "generator/manifest",
			"generator/secretref", "generator/internal/podrules"},
		"generator/compile": {"generator/api", "generator/diag", "generator/model", "generator/manifest",
			"generator/hierarchy", "generator/secretref", "generator/internal"},
		"generator/compile/scrape": {"generator/api", "generator/diag", "generator/model", "generator/internal"},
		"generator/compile/stage":  {"generator/api", "generator/diag", "generator/model", "generator/internal"},
		"generator/compile/integration": {"generator/api", "generator/diag", "generator/model", "generator/internal",
			"internal/expression"},
		"generator/runtimes": {"generator/api", "generator/diag", "generator/model", "generator/secretref",
			"generator/internal/podspec", "generator/compile/stage", "generator/internal", "internal/expression"},
		"generator/workload": {"generator/api", "generator/diag", "generator/model", "generator/manifest",
			"generator/mirror", "generator/hierarchy", "generator/compile", "generator/runtimes", "generator/secretref",
			"generator/selfmonitoring", "generator/rbac", "generator/internal"},
		"generator/selfmonitoring": {"generator/runtimes"},
		"generator/patch": {"generator/diag", "generator/manifest", "generator/workload",
			"internal/panics", "internal/expression"},
		"generator/podsecurity": {"generator/diag"},
		"generator/rbac":        {"generator/diag", "generator/manifest", "generator/model"},
		"generator/difference": {"generator/diag", "generator/manifest", "generator/workload",
			"generator/internal"},
		"generator/ignore": {"generator/manifest"},
		"generator/explain": {"generator/api", "generator/diag", "generator/model", "generator/manifest",
			"generator/hierarchy", "generator/ignore", "generator/secretref", "generator/runtimes",
			"generator/internal"},
		"generator/tenancy": {"generator/api", "generator/diag", "generator/manifest",
			"generator/hierarchy", "generator/secretref", "generator/internal/expand"},
		"generator/internal/hold": {"generator/diag", "generator/manifest", "generator/hierarchy"},
		"generator":               {"generator", "internal/panics"},

		"inputs/chart": {"generator/diag", "inputs/helm", "inputs/tree", "internal/panics",
			"internal/httpclient"},
		"inputs/helm":            {"internal/worker"},
		"inputs/kustomizer":      {"generator/api/references", "generator/diag", "internal/panics", "internal/worker"},
		"inputs/helm/helmworker": {"generator/diag", "inputs/helm", "internal/worker"},
		"inputs/sops":            {"generator/diag", "generator/manifest", "internal/worker", "internal/expression"},
		"inputs/sops/sopsworker": {"inputs/sops", "internal/worker"},

		"internal/webhook/kind": {},
		"internal/httpclient":   {},
		"internal/panics":       {},
		"internal/expression":   {},
		"internal/lazyregexp":   {},
		"internal/worker":       {},
		"internal/httpserver":   {"internal/panics"},
		"gitsync": {"generator", "gitsync", "inputs/chart", "inputs/helm", "inputs/kustomizer", "inputs/sops",
			"inputs/tree", "internal/panics", "internal/httpclient", "internal/webhook/kind", "internal/worker"},
		"gitsync/budget":         {"gitsync/repo/limit"},
		"gitsync/repo":           {"generator/diag", "gitsync/budget", "internal/httpclient"},
		"gitsync/committext":     {"gitsync/repo"},
		"gitsync/internal/blame": {"generator/diag", "gitsync/committext", "gitsync/repo"},
		"gitsync/signature":      {"generator/diag", "gitsync/committext", "gitsync/repo"},
		"gitsync/pipeline": {"generator", "inputs", "inputs/helm", "inputs/sops", "gitsync/budget",
			"gitsync/repo", "internal/webhook/kind"},
		"inputs": {"generator/api/references", "generator/diag", "generator/manifest",
			"generator/passthrough", "gitsync/sourceignore", "internal/panics"},
		"gitsync/source": {"generator/diag", "generator/manifest", "inputs", "gitsync/budget",
			"gitsync/pipeline", "gitsync/repo", "gitsync/signature", "gitsync/sourceignore", "internal/panics"},
		"gitsync/branch": {"generator/manifest", "generator/passthrough", "generator/secretref", "generator/workload",
			"gitsync/pipeline", "gitsync/repo", "inputs/chart"},
		"gitsync/seal": {"generator/manifest", "inputs/sops", "internal/worker"},
		"gitsync/internal/lastgood": {"generator/diag", "generator/manifest", "gitsync/branch", "gitsync/committext",
			"gitsync/pipeline", "gitsync/repo", "gitsync/source"},
		"gitsync/plan": {"generator", "gitsync/branch", "gitsync/committext", "gitsync/internal/lastgood",
			"gitsync/pipeline", "gitsync/repo", "gitsync/seal", "inputs/sops"},
		"gitsync/publish": {"inputs/chart", "inputs/helm", "generator/compile/integration", "generator/diag",
			"gitsync/branch", "gitsync/committext", "gitsync/pipeline", "gitsync/repo", "gitsync/signature"},
		"sd":              {"sd", "internal/httpserver", "internal/webpage"},
		"sd/kubelet":      {"internal/lease"}, // It writes to the cluster: nothing that reads what pods say.
		"internal":        {"generator", "gitsync", "inputs", "sd", "internal"},
		"cmd":             {"generator", "gitsync", "inputs", "sd", "internal"},
		"test":            {"generator", "gitsync", "sd", "internal", "test"},
		"test/builds":     {"generator/diag", "inputs"},
		"test/testworker": {"inputs"},
	}
}

// impure are packages that the generator does not import: it has no files, no network, no
// processes and no randomness.
func impure() []string {
	return []string{"os", "os/exec", "os/signal", "os/user", "net", "net/http", "syscall", "math/rand", "math/rand/v2",
		"crypto/rand", "log", "log/slog", "plugin"}
}

// listed is what go list says about a package.
type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		name := relative(p.ImportPath)
		for _, i := range p.Imports {
			target, ours := strings.CutPrefix(i, module+"/")
			if ours && !mayImport(name, target) {
				t.Errorf("%s imports %s", name, target)
			}
		}
	}
}

func mayImport(name, target string) bool {
	owner := ownerOf(name)
	if target == "internal/lazyregexp" { // as everybody may use the regular expressions of the standard library
		return true
	}
	return within(target, owner) && owner != "generator" || slices.ContainsFunc(allowed()[owner], func(a string) bool {
		return within(target, a)
	})
}

// ownerOf is the longest entry of the table that the package lies in.
func ownerOf(name string) string {
	for ; name != "."; name = filepath.ToSlash(filepath.Dir(name)) {
		if _, ok := allowed()[name]; ok {
			return name
		}
	}
	return ""
}

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// TestRuntimesAreListedInOnePlace: what a runtime does is behind the values of generator/runtimes, so
// that another one is a folder and a line.
func TestRuntimesAreListedInOnePlace(t *testing.T) {
	const runtimes = "generator/runtimes/"
	for _, p := range packages(t) {
		name := relative(p.ImportPath)
		if name == "generator" || strings.HasPrefix(name, runtimes) || !within(name, "generator") {
			continue
		}
		for _, i := range p.Imports {
			if target, ok := strings.CutPrefix(i, module+"/"+runtimes); ok {
				t.Errorf("%s imports the runtime %s", name, target)
			}
		}
	}
}

func TestTheTableNamesEveryPackage(t *testing.T) {
	for _, p := range packages(t) {
		name := relative(p.ImportPath)
		owner := ownerOf(name)
		if owner == "" || owner == "generator" && name != "generator" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

func TestTheGeneratorIsPure(t *testing.T) {
	for _, p := range packages(t) {
		if !within(relative(p.ImportPath), "generator") {
			continue
		}
		for _, i := range p.Imports {
			if slices.Contains(impure(), i) {
				t.Errorf("%s imports %s", relative(p.ImportPath), i)
			}
		}
		for _, file := range p.GoFiles {
			for _, use := range clockUses(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s reads the clock", use)
			}
		}
	}
}

// clockUses finds time.Now and the like; durations and dates as values are fine.
func clockUses(t *testing.T, file string) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" &&
			slices.Contains([]string{"Now", "Since", "Until", "After", "Tick", "NewTimer", "NewTicker", "Sleep"},
				s.Sel.Name) {
			found = append(found, files.Position(n.Pos()).String())
		}
		return true
	})
	return found
}

func relative(importPath string) string {
	if importPath == module {
		return ""
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	command.Dir = filepath.Join("..", "..")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
