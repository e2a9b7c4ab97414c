package branch

import (
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Written is what agentry adds to MetadataFile, so that a later pass can tell its own files from those that somebody
// changed. It does not grow with the output: one hash is for all files.
type Written struct {
	// Tree is the hash of the output folder without MetadataFile, which cannot hold its own. A commit that
	// nobody else edited has a folder with that hash.
	Tree string `json:"agentryTree,omitempty"`
	// Drift has the blobs that agentry wrote to files that somebody changed later in a unit that stays as it is, by
	// path below the output folder: Tree covers the changed files, not these.
	Drift map[string]string `json:"agentryDrift,omitempty"`
}

// FolderHash returns the hash of an output folder without MetadataFile.
func FolderHash(folder []object.Entry) plumbing.Hash {
	return object.HashTree(slices.DeleteFunc(slices.Clone(folder), func(e object.Entry) bool {
		return e.Name == MetadataFile
	}))
}

// IsUntouched reports whether the tip is what agentry wrote, and no drift was left in it.
func (b *Branch) IsUntouched() (bool, error) {
	if b.Inventory == nil || len(b.Inventory.Drift) > 0 {
		return false, nil
	}
	folder, err := b.lastFolder()
	if err != nil || folder.IsZero() {
		return false, err
	}
	entry, err := b.Lookup(b.At())
	if errors.Is(err, object.ErrPathNotFound) {
		return false, nil // somebody removed it
	}
	return entry.Hash == folder, err
}

// written returns the blob that agentry last wrote to a file, by its path below the output folder; the zero hash means
// none. It is unknown on branches of version 2, and if that commit is no near ancestor of the tip, as after a forced
// push.
func (b *Branch) written(name string) (blob plumbing.Hash, known bool, err error) {
	if b.Inventory == nil {
		return plumbing.ZeroHash, false, nil
	}
	if blob, left := b.Inventory.Drift[name]; left {
		return plumbing.NewHash(blob), true, nil
	}
	folder, err := b.lastFolder()
	if err != nil || folder.IsZero() {
		return plumbing.ZeroHash, false, err
	}
	entry, err := b.reader.Lookup(folder, name)
	if errors.Is(err, object.ErrPathNotFound) {
		return plumbing.ZeroHash, true, nil
	}
	return entry.Hash, err == nil, err
}

// lastFolder returns the output folder as agentry last wrote it, or the zero hash if that is unknown.
func (b *Branch) lastFolder() (plumbing.Hash, error) {
	if b.last == nil {
		folder, err := b.findFolder(b.Inventory.Tree)
		if err != nil {
			return folder, err
		}
		b.last = &folder
	}
	return *b.last, nil
}

// findFolder searches the tip and its ancestors for an output folder with that hash. What somebody merged has it at a
// second parent.
func (b *Branch) findFolder(hash string) (plumbing.Hash, error) {
	if hash == "" {
		return plumbing.ZeroHash, nil
	}
	queue, seen := []*object.Commit{{Tree: b.Tree, Parents: b.Parents}}, map[plumbing.Hash]bool{}
	for n := 0; n < len(queue) && n < maxHistory; n++ {
		entry, err := b.reader.Lookup(queue[n].Tree, b.path)
		switch {
		case err == nil && entry.Mode == filemode.Dir:
			folder, err := b.reader.Tree(entry.Hash)
			if err != nil || FolderHash(folder).String() == hash {
				return entry.Hash, err
			}
		case err != nil && !errors.Is(err, object.ErrPathNotFound):
			return plumbing.ZeroHash, err
		}
		for _, id := range queue[n].Parents {
			if seen[id] || len(queue) >= maxHistory { // a commit can have thousands of parents
				continue
			}
			seen[id] = true
			parent, err := b.reader.Commit(id)
			if errors.Is(err, object.ErrNotFound) {
				continue // the end of a shallow history
			}
			if err != nil {
				return plumbing.ZeroHash, err
			}
			queue = append(queue, parent)
		}
	}
	return plumbing.ZeroHash, nil
}

// IsDrift reports whether somebody changed or removed a file of the unit.
func (u *Unit) IsDrift(f FileEntry) (bool, error) {
	return u.branch.isDrift(f, u.Name+"/"+f.Path, u.Entries[f.Path])
}

// IsRootDrift reports whether somebody changed or removed a file beside the units.
func (b *Branch) IsRootDrift(f FileEntry) (bool, error) {
	entry, err := b.Lookup(b.At(f.Path))
	if err != nil && !errors.Is(err, object.ErrPathNotFound) {
		return false, err
	}
	return b.isDrift(f, f.Path, entry)
}

func (b *Branch) isDrift(f FileEntry, name string, current object.Entry) (bool, error) {
	if current.Mode != filemode.Regular {
		return true, nil
	}
	if f.SHA256 != "" {
		data, err := b.reader.Blob(current.Hash, MaxOutputBytes)
		return SHA256(data) != f.SHA256, err
	}
	blob, known, err := b.written(name)
	return known && blob != current.Hash, err
}

// AddDrift adds the files of the unit that somebody changed to left, the changes that stay on the branch.
func (u *Unit) AddDrift(left map[string]string) error {
	for _, f := range u.Inventory.Files {
		name := u.Name + "/" + f.Path
		drift, err := u.IsDrift(f)
		if err != nil {
			return err
		}
		if !drift || f.SHA256 != "" { // version 2 has a hash of its own
			continue
		}
		blob, known, err := u.branch.written(name)
		if err != nil {
			return err
		}
		if known && !blob.IsZero() {
			left[name] = blob.String()
		}
	}
	return nil
}

// WasWritten reports whether data is what agentry last wrote to a file, whatever it is now.
func (u *Unit) WasWritten(name string, data []byte) (bool, error) {
	listed, ours := u.Inventory.File(name)
	if !ours || listed.SHA256 != "" {
		return ours && listed.SHA256 == SHA256(data), nil
	}
	blob, known, err := u.branch.written(u.Name + "/" + name)
	return known && blob == plumbing.ComputeHash(plumbing.BlobObject, data), err
}

// LastWritten returns a file of a unit as agentry last wrote it, even if somebody changed it since. If that version is
// unknown, it returns the file as it is. For a removed file the error is [object.ErrPathNotFound]: users remove the
// file of a workload to have it replaced.
func (u *Unit) LastWritten(name string) ([]byte, error) {
	data, err := u.Read(name)
	listed, ours := u.Inventory.File(name)
	if err != nil || !ours {
		return data, err
	}
	if listed.SHA256 != "" {
		return u.lastOfSum(name, data, listed.SHA256)
	}
	blob, known, err := u.branch.written(u.Name + "/" + name)
	if err != nil || !known || blob.IsZero() || blob == u.Entries[name].Hash {
		return data, err
	}
	if data, err = u.branch.reader.Blob(blob, MaxOutputBytes); errors.Is(err, object.ErrNotFound) {
		return nil, object.ErrPathNotFound // the version is older than the fetched history, or the hash is forged
	}
	return data, err
}

// lastOfSum returns the newest version of a file with a SHA-256, as inventories of version 2 have it.
func (u *Unit) lastOfSum(name string, data []byte, sum string) ([]byte, error) {
	if SHA256(data) == sum {
		return data, nil
	}
	found, err := u.branch.Newest(u.branch.At(u.Name, name), func(old []byte) (bool, error) {
		data = old
		return SHA256(old) == sum, nil
	})
	if err == nil && !found {
		err = object.ErrPathNotFound
	}
	return data, err
}
