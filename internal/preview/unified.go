package preview

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/diff"
	textdiff "github.com/go-git/go-git/v5/utils/diff"
)

// contextLines are shown around each change.
const contextLines = 3

// unified returns the difference of two texts as a unified diff without file names, and the number of added and
// removed lines.
func unified(before, after string) (text string, plus, less int) {
	var p patch
	for _, d := range textdiff.Do(before, after) {
		c := chunk{d.Text, diff.Equal}
		lines := 0
		for range strings.Lines(d.Text) {
			lines++
		}
		switch {
		case d.Type > 0:
			c.op = diff.Add
			plus += lines
		case d.Type < 0:
			c.op = diff.Delete
			less += lines
		}
		p = append(p, c)
	}
	var b strings.Builder
	_ = diff.NewUnifiedEncoder(&b, contextLines).Encode(p) // a Builder never fails
	return b.String(), plus, less
}

// patch is the difference of one file without a name, as package diff wants it.
type patch []diff.Chunk

func (p patch) FilePatches() []diff.FilePatch { return []diff.FilePatch{p} }
func (p patch) Message() string               { return "" }
func (p patch) IsBinary() bool                { return false }
func (p patch) Files() (from, to diff.File)   { return nil, nil }
func (p patch) Chunks() []diff.Chunk          { return p }

// chunk is a part of both texts, or of one.
type chunk struct {
	text string
	op   diff.Operation
}

func (c chunk) Content() string      { return c.text }
func (c chunk) Type() diff.Operation { return c.op }
