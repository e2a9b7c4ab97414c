package source

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
)

// Stored is a file with its objects, in a form that can be stored.
type Stored struct {
	Path string
	Blob plumbing.Hash
	// Count is the number of its objects, and Sum is a digest of them.
	Count int
	Sum   [sha256.Size]byte
	// Heads is what the file was parsed to; nil if that must be done again.
	Heads *manifest.Heads
}

// Stored returns the files in a form that can be stored, sorted by path.
func (in *Input) Stored() []Stored {
	out := make([]Stored, 0, len(in.Files))
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		f := in.Files[name]
		stored := Stored{Path: name, Blob: f.Blob, Count: len(f.Result.Objects), Sum: f.sum()}
		if heads, ok := f.Result.Heads(); ok && f.root == nil && !f.Blob.IsZero() {
			stored.Heads = &heads
		}
		out = append(out, stored)
	}
	return out
}

// Objects returns the objects of a file that is stored, if it still has the same.
func (in *Input) Objects(of *Stored) ([]*manifest.Object, bool) {
	f := in.Files[of.Path]
	if f == nil || f.Blob != of.Blob || len(f.Result.Objects) != of.Count || f.sum() != of.Sum {
		return nil, false
	}
	return f.Result.Objects, true
}

func (f *File) sum() (out [sha256.Size]byte) {
	h := sha256.New()
	for _, o := range f.Result.Objects {
		h.Write(o.Digest[:])
	}
	h.Sum(out[:0])
	return out
}

// recall gives files that are stored what they were parsed to, and returns the others.
func (s *Source) recall(pass *budget.Pass, files []*File, opts manifest.Options) ([]*File, error) {
	if len(s.Stored) == 0 || s.IsLocal {
		return files, nil
	}
	known := make(map[string]*Stored, len(s.Stored))
	for i := range s.Stored {
		known[s.Stored[i].Path] = &s.Stored[i]
	}
	s.Stored = nil
	var rest []*File
	for _, f := range files {
		of := known[f.Path]
		if of == nil || of.Heads == nil || of.Blob != f.Blob {
			rest = append(rest, f)
			continue
		}
		f.Result = of.Heads.Of(manifest.File{Source: s.Label, Path: f.Path, Again: s.again(f.Blob)}, opts)
		if err := f.take(pass); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
