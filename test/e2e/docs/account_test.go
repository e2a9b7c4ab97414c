package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// other is a test that types or reads blocks of a page.
type other struct {
	file, test string
}

// typedElsewhere are the tests that type what stands on a page, with the languages that they know.
func typedElsewhere() map[string]map[string]other {
	flux := other{"test/e2e/flux/flux_test.go", "TestFlux"}
	migration := other{"test/e2e/adoption/migration_test.go", "TestMigrationPage"}
	return map[string]map[string]other{
		"docs/alloy.md":     {"console": {"internal/cli/alloy_page_test.go", "TestAlloyPage"}},
		"docs/argocd.md":    {"sh": {"test/e2e/argocd/argocd_test.go", "TestArgoCD"}},
		"docs/flux.md":      {"sh": flux},
		"docs/migration.md": {"sh": migration, "console": migration},
		"docs/first-day.md": {"console": {"test/e2e/day/day_test.go", "TestFirstDay"}},
		"docs/holding.md":   {"console": {"internal/cli/holding_test.go", "TestHoldingPage"}},
		"docs/holding-reference.md": {
			"console": {"internal/cli/holding_test.go", "TestHoldingReference"}},
	}
}

// TestTestsThatPagesNameExist: who is said to type or read something is there, and its package knows the page.
func TestTestsThatPagesNameExist(t *testing.T) {
	for name, languages := range typedElsewhere() {
		for _, o := range languages {
			text, err := os.ReadFile(filepath.Join(harness.Root(), o.file))
			if err != nil || !strings.Contains(string(text), "func "+o.test+"(") {
				t.Errorf("%s has no %s, which is to type %s: %v", o.file, o.test, name, err)
			}
			files, _ := filepath.Glob(filepath.Join(harness.Root(), path.Dir(o.file), "*_test.go"))
			if !mentions(files, `"`+path.Base(name)+`"`) {
				t.Errorf("nothing beside %s opens %s", o.file, name)
			}
		}
	}
	for _, o := range readers() {
		text, err := os.ReadFile(filepath.Join(harness.Root(), o.file))
		if err != nil || !strings.Contains(string(text), "func "+o.test+"(") {
			t.Errorf("%s has no %s, which is to read manifests: %v", o.file, o.test, err)
		}
	}
}

func mentions(files []string, text string) bool {
	for _, file := range files {
		if found, err := os.ReadFile(file); err == nil && strings.Contains(string(found), text) {
			return true
		}
	}
	return false
}

// TestNoCommandHides: commands stand in fences that say so.
func TestNoCommandHides(t *testing.T) {
	for _, b := range blocks(t) {
		if b.Page == "docs/cli.md" { // What --help prints; internal/cli runs the examples in it.
			continue
		}
		if found := page.Commands(b.Text); b.Language == "" && len(found) > 0 {
			t.Errorf("%s: a block with commands needs a language, sh or console: %s", b, found[0])
		}
	}
	for _, pattern := range page.Patterns() {
		files, err := filepath.Glob(filepath.Join(harness.Root(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := page.Commands(strings.Join(page.Indented(string(text)), "\n")); len(found) > 0 {
				t.Errorf("%s: put commands into a fence: %s", file, found[0])
			}
		}
	}
}

// blocks are those of all pages.
func blocks(t *testing.T) []page.Block {
	t.Helper()
	all, err := page.All(harness.Root())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isCommands tells blocks that people type.
func isCommands(b page.Block) bool {
	return b.Language == "sh" || b.Language == "bash" || b.Language == "shell" || b.Language == "console"
}

// tally counts what became of blocks of commands, and prints it.
type tally struct {
	here, elsewhere int
	not             []page.Block
}

func (c *tally) print() {
	fmt.Printf("e2e: of %d blocks of commands, %d were run here, %d are run by other tests, and %d are not run:\n",
		c.here+c.elsewhere+len(c.not), c.here, c.elsewhere, len(c.not))
	for _, b := range c.not {
		fmt.Printf("e2e:   %s: %s\n", b, b.NoRun)
	}
}
