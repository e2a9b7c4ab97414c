package source

import (
	"crypto/sha256"
	"maps"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
	"github.com/agentry-dev/agentry/inputs"
)

// Stored is what was read of a source, in a form that can be stored.
type Stored struct {
	Files []StoredFile // sorted by path
	// Own is the tree that was read, and Mounted are those of the sources mounted in it, by folder. Own is zero if it
	// must be searched again.
	Own     plumbing.Hash
	Mounted map[string]plumbing.Hash
	// Ignoring are the folders with a .sourceignore file, which hide so many files.
	Ignoring []string
	Hidden   int
	Layout   *inputs.StoredLayout
}

// StoredFile is a file with its objects, in a form that can be stored.
type StoredFile struct {
	Path string
	Blob plumbing.Hash
	// Count is the number of its objects, and Sum is a digest of them.
	Count int
	Sum   [sha256.Size]byte
	// Heads is what the file was parsed to; nil if that must be done again.
	Heads *manifest.Heads
}

// Stored returns what was read in a form that can be stored.
func (in *Input) Stored() *Stored {
	out := &Stored{Files: make([]StoredFile, 0, len(in.Files))}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		f := in.Files[name]
		stored := StoredFile{Path: name, Blob: f.Blob, Count: len(f.Result.Objects), Sum: f.sum()}
		if heads, ok := f.Result.Heads(); ok && f.root == nil && !f.Blob.IsZero() {
			stored.Heads = &heads
		}
		out.Files = append(out.Files, stored)
	}
	if layout, ok := in.layout.Stored(); ok {
		out.Own, out.Mounted, out.Layout = in.at.own, in.at.others, layout
		out.Ignoring, out.Hidden = slices.Sorted(maps.Keys(in.rules)), in.hidden
	}
	return out
}

// Objects returns the objects of a file that is stored, if it still has the same.
func (in *Input) Objects(of *StoredFile) ([]*manifest.Object, bool) {
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

// resume goes on from the trees that another process has read, if they are still in the repositories: it returns their
// plain files, unparsed. What is built is built again.
func (s *Source) resume(pass *budget.Pass, of *Stored, opts manifest.Options) ([]*File, error) {
	if of == nil || of.Own.IsZero() || s.IsLocal || !s.Input.at.own.IsZero() {
		return nil, nil
	}
	rd := s.Repo.Reader()
	defer rd.Close()
	at, d := trees{of.Own, of.Mounted}, &treeDiff{Source: s, rd: rd}
	if !s.has(at) {
		return nil, nil
	}
	rules := sourceignore.Rules{}
	for _, folder := range of.Ignoring {
		e, err := d.entry(at.own, path.Join(folder, sourceignore.FileName))
		if err != nil {
			return nil, err
		}
		if rules[folder], err = d.parseRules(folder, e); err != nil {
			return nil, err
		}
	}
	files := make([]*File, 0, len(of.Files))
	for i := range of.Files {
		f := &File{Path: of.Files[i].Path, Blob: of.Files[i].Blob}
		if _, isBuilt := of.Layout.Roots[f.Path]; isBuilt {
			continue
		}
		if f.Blob.IsZero() { // it was refused
			e, err := d.entry(at.own, f.Path)
			if err != nil {
				return nil, err
			}
			f = s.File(f.Path, e)
		}
		files = append(files, f)
	}
	s.Input.at, s.Input.rules, s.Input.hidden = at, rules, of.Hidden
	s.Input.layout = of.Layout.Of(opts.Tenants)
	return files, pass.Take(int64(len(files)) * BytesPerFile)
}

// has reports whether trees are in the repositories.
func (s *Source) has(at trees) bool {
	has := func(of *Source, tree plumbing.Hash) bool {
		rd := of.Repo.Reader()
		defer rd.Close()
		return rd.Has(tree)
	}
	if len(at.others) != len(s.Mounts) || !has(s, at.own) {
		return false
	}
	for mount, of := range s.Mounts {
		if !has(of, at.others[mount]) {
			return false
		}
	}
	return true
}

// recall gives files that are stored what they were parsed to, and returns the others.
func (s *Source) recall(pass *budget.Pass, from *Stored, files []*File, opts manifest.Options) ([]*File, error) {
	if from == nil || s.IsLocal {
		return files, nil
	}
	known := make(map[string]*StoredFile, len(from.Files))
	for i := range from.Files {
		known[from.Files[i].Path] = &from.Files[i]
	}
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
