package plan

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-git/go-git/v5/utils/diff"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// FileChange is one file of a commit.
type FileChange struct {
	Path string
	Op   string // added, changed or removed
	// Insertions and Deletions count lines. They are set in a dry run only.
	Insertions, Deletions int
}

// Files returns the files that change, sorted by path.
func (c *Change) Files() ([]FileChange, error) {
	var out []FileChange
	for name, edit := range c.Edits {
		same, exists, err := c.plan.Branch.Equals(name, edit.Data)
		if err != nil {
			return nil, err
		}
		f := FileChange{Path: name, Op: "changed"}
		switch {
		case edit.Remove && !exists, !edit.Remove && same:
			continue
		case edit.Remove:
			f.Op = "removed"
		case !exists:
			f.Op = "added"
		}
		if c.plan.DryRun {
			if err := c.countLines(&f, edit); err != nil {
				return nil, err
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

func (c *Change) countLines(f *FileChange, edit object.Edit) error {
	old, err := c.plan.Branch.Read(f.Path)
	if err != nil {
		return err
	}
	for _, part := range diff.Do(string(old), string(edit.Data)) {
		switch n := bytes.Count([]byte(part.Text), []byte("\n")); {
		case part.Type > 0:
			f.Insertions += n
		case part.Type < 0:
			f.Deletions += n
		}
	}
	return nil
}
