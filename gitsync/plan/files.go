package plan

import (
	"cmp"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// editOf returns the edit that writes a file.
func editOf(f *generator.File) object.Edit {
	if blob, ok := f.Stored.(object.Blob); ok {
		return object.Edit{Blob: &blob}
	}
	return object.Edit{Data: f.Data}
}

// hashOf returns the hash of a file.
func hashOf(f *generator.File) plumbing.Hash { return editOf(f).Hash() }

// FileChange is one file of a commit.
type FileChange struct {
	Path string `json:"path"`
	Op   string `json:"op"` // added, changed or removed
}

// Files returns the files that change, sorted by path.
func (c *Change) Files() ([]FileChange, error) {
	var out []FileChange
	for name, edit := range c.Edits {
		same, exists, err := c.plan.Branch.Equals(name, edit.Hash())
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
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}
