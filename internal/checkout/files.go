package checkout

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Files are texts in memory as the files of a commit.
type Files struct {
	texts  map[string][]byte
	blobs  map[plumbing.Hash]string // their names
	trees  map[plumbing.Hash][]object.Entry
	commit *object.Commit
}

// NewFiles returns a commit with files by their slash-separated names.
func NewFiles(texts map[string][]byte) *Files {
	f := &Files{texts: texts, blobs: map[plumbing.Hash]string{}, trees: map[plumbing.Hash][]object.Entry{}}
	folders := map[string]map[string]object.Entry{".": {}} // the entries by their names
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		e := object.Entry{Name: path.Base(name), Mode: filemode.Regular,
			Hash: id("blob", name, plumbing.ComputeHash(plumbing.BlobObject, texts[name]).String())}
		f.blobs[e.Hash] = name
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			if folders[dir] == nil {
				folders[dir] = map[string]object.Entry{}
			}
			folders[dir][e.Name] = e
			if dir == "." {
				break
			}
			e = object.Entry{Name: path.Base(dir), Mode: filemode.Dir}
		}
	}
	f.commit = commitOf(f.tree(folders, "."), "files in memory")
	return f
}

// tree makes the tree of a folder, and returns its id.
func (f *Files) tree(folders map[string]map[string]object.Entry, dir string) plumbing.Hash {
	words, entries := []string{"tree", dir}, []object.Entry{}
	for _, name := range slices.Sorted(maps.Keys(folders[dir])) {
		e := folders[dir][name]
		if e.Mode == filemode.Dir {
			e.Hash = f.tree(folders, path.Join(dir, name))
		}
		words, entries = append(words, name, e.Hash.String()), append(entries, e)
	}
	h := id(words...)
	f.trees[h] = entries
	return h
}

// ID returns the id of the commit.
func (f *Files) ID() plumbing.Hash { return f.commit.Hash }

// Has implements [object.Objects].
func (f *Files) Has(h plumbing.Hash) bool {
	return h == f.commit.Hash || f.trees[h] != nil || f.blobs[h] != ""
}

// Commit implements [object.Objects].
func (f *Files) Commit(plumbing.Hash) (*object.Commit, error) { return f.commit, nil }

// Tree implements [object.Objects].
func (f *Files) Tree(h plumbing.Hash) ([]object.Entry, error) { return f.trees[h], nil }

// BlobSize implements [object.Objects].
func (f *Files) BlobSize(h plumbing.Hash) (int64, error) { return int64(len(f.texts[f.blobs[h]])), nil }

// Blob implements [object.Objects].
func (f *Files) Blob(h plumbing.Hash, maxBytes int64) ([]byte, error) {
	text := f.texts[f.blobs[h]]
	if maxBytes > 0 && int64(len(text)) > maxBytes {
		return nil, fmt.Errorf("%s: %w: at most %d bytes are allowed", f.blobs[h], limit.ErrTooLarge,
			maxBytes)
	}
	return text, nil
}

// Text returns the text of a file, or nil.
func (f *Files) Text(name string) []byte { return f.texts[name] }
