package branch

import (
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Written has fields of MetadataFile by which a later pass recognises files that somebody changed. It does not grow
// with the output: one hash covers all files.
type Written struct {
	// Tree is the hash of the output folder without MetadataFile, which cannot contain its own hash. The folder has
	// another hash if somebody edited it.
	Tree string `json:"agentryTree,omitempty"`
	// Drift maps files that somebody changed in units that are left unchanged, as paths below the output folder, to
	// the blobs that agentry wrote: Tree covers only the changed files.
	Drift map[string]string `json:"agentryDrift,omitempty"`
}

// FolderHash returns the hash of an output folder without MetadataFile.
func FolderHash(folder []object.Entry) plumbing.Hash {
	return object.HashTree(slices.DeleteFunc(slices.Clone(folder), func(e object.Entry) bool {
		return e.Name == MetadataFile
	}))
}

// IsUntouched reports whether the tip is exactly as agentry wrote it, without drift that was left in it.
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
		return false, nil // somebody removed the folder
	}
	return entry.Hash == folder, err
}

// written returns the blob that agentry last wrote to a file, given as a path below the output folder, or zero if there
// was none. It is unknown on branches of version 2, and if that commit is not a near ancestor of the tip, for example
// after a forced push.
func (b *Branch) written(name string) (blob plumbing.Hash, known bool, err error) {
	if b.Inventory == nil {
		return plumbing.ZeroHash, false, nil
	}
	if blob, drifted := b.Inventory.Drift[name]; drifted {
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

// lastFolder returns the output folder as agentry last wrote it, or zero if unknown.
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

// findFolder searches the tip and its ancestors for an output folder with that hash. After a merge by somebody else, it
// can be at the second parent.
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

// AddDrift adds the drift of the unit to left, the drift that stays on the branch: see [Written].
func (u *Unit) AddDrift(left map[string]string) error {
	for _, f := range u.Inventory.Files {
		name := u.Name + "/" + f.Path
		drift, err := u.IsDrift(f)
		if err != nil {
			return err
		}
		if !drift || f.SHA256 != "" { // version 2 has a hash for each file
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

// WasWritten reports whether agentry last wrote data to a file, whatever its content is now.
func (u *Unit) WasWritten(name string, data []byte) (bool, error) {
	listed, ours := u.Inventory.File(name)
	if !ours || listed.SHA256 != "" {
		return ours && listed.SHA256 == SHA256(data), nil
	}
	blob, known, err := u.branch.written(u.Name + "/" + name)
	return known && blob == plumbing.ComputeHash(plumbing.BlobObject, data), err
}

// LastWritten returns the content of a file as agentry last wrote it, even if somebody changed it since, or its present
// content if that is unknown. For a removed file the error is [object.ErrPathNotFound]: users remove the file of a
// workload to have it replaced.
func (u *Unit) LastWritten(name string) ([]byte, error) {
	data, err := u.Read(name)
	listed, ours := u.Inventory.File(name)
	if err != nil || !ours {
		return data, err
	}
	if listed.SHA256 != "" {
		return u.newestBySum(name, data, listed.SHA256)
	}
	blob, known, err := u.branch.written(u.Name + "/" + name)
	if err != nil || !known || blob.IsZero() || blob == u.Entries[name].Hash {
		return data, err
	}
	if data, err = u.branch.reader.Blob(blob, MaxOutputBytes); errors.Is(err, object.ErrNotFound) {
		return nil, object.ErrPathNotFound // the blob is older than the fetched history, or its hash is forged
	}
	return data, err
}

// newestBySum returns the newest version of a file with the SHA-256, which inventories of version 2 have.
func (u *Unit) newestBySum(name string, data []byte, sum string) ([]byte, error) {
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
