// Package page reads the pages of the documentation for those who type what stands there.
package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is what stands between two fences of a page.
type Block struct {
	// Page is the file, as seen from the top of the repository, and Line where the block begins.
	Page string
	Line int
	// Language is what the fence names; it may be empty.
	Language, Text string
	// NoRun is why nobody types it, as the comment above the fence says; if there is one.
	NoRun string
}

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Patterns match the files of all pages.
func Patterns() []string {
	return []string{"*.md", "docs/*.md", "charts/*/README.md", "examples/*/README.md"}
}

// All are the blocks of all pages below a folder.
func All(root string) ([]Block, error) {
	var all []Block
	for _, pattern := range Patterns() {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no pages are called %s: %w", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			blocks, err := Blocks(filepath.ToSlash(name), string(text))
			if err != nil {
				return nil, err
			}
			all = append(all, blocks...)
		}
	}
	return all, nil
}

var mark = regexp.MustCompile(`^<!-- no-run: (\S.*) -->$`)

// Blocks are those of a page. A fence that is not closed, and a mark that no block follows, are
// errors: they would hide something.
func Blocks(name, text string) ([]Block, error) {
	var (
		blocks []Block
		open   *Block
		why    string
		indent string
	)
	for i, line := range strings.Split(text, "\n") {
		fence, fenced := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case open != nil && fenced:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case fenced:
			indent = line[:strings.Index(line, "`")]
			open = &Block{Page: name, Line: i + 1, Language: fence, NoRun: why}
			why = ""
		case why != "":
			return nil, fmt.Errorf("%s:%d: no block follows the mark no-run at once", name, i+1)
		case strings.HasPrefix(strings.TrimSpace(line), "<!-- no-run"):
			m := mark.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("%s:%d: the mark is <!-- no-run: reason -->, on a line of its own", name, i+1)
			}
			why = m[1]
		}
	}
	if open != nil || why != "" {
		return nil, fmt.Errorf("%s: the page ends within a block, or after a mark", name)
	}
	return blocks, nil
}

var program = regexp.MustCompile(
	`^\s*(?:[$#] )?(?:sudo )?(?:agentry|sd-aggregator|kubectl|helm|flux|argocd|docker|git|make|go|curl|openssl|systemctl|cd|export|sh) [a-z.-]`)

// Commands are the lines of a text that look like commands.
func Commands(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if program.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// Indented are the lines of a page that Markdown shows as code because they are indented.
func Indented(text string) []string {
	var found []string
	fenced, blank := false, true
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if code := strings.HasPrefix(line, "    "); !fenced && code && blank {
			found = append(found, line)
		} else {
			blank = line == ""
		}
	}
	return found
}
