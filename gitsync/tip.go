package gitsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// tip is the output branch as it was fetched.
type tip struct {
	branch    repo.Tip
	commit    plumbing.Hash // zero when the branch does not exist
	tree      plumbing.Hash
	parents   []plumbing.Hash
	inventory *inventory           // nil when the path is not ours
	units     map[string]*heldUnit // by the list of units
	unlisted  map[string]*heldUnit // that were asked for
	others    bool                 // files are at the path, and no inventory

	// With promotion only:
	proposed, inputs repo.Tip
	drySHA           string    // that the branch names, if it does
	lock             *lockFile // of this pipeline at inputs; nil when there is none
}

// heldUnit is the folder of a unit on the output branch.
type heldUnit struct {
	name    string
	known   bool          // listed, or with an inventory of its own
	dir     plumbing.Hash // zero when there is no folder, or somebody removed it
	entries map[string]repo.Entry
	inv     *unitInventory // read when needed; empty when there is none
	lost    bool           // inv is not on the tip
}

// exists reports whether the branch has the unit.
func (u *heldUnit) exists() bool { return u.known && !u.dir.IsZero() }

// readTip finds what of the output branch is ours.
func (p *pass) readTip() error {
	t := &p.tip
	t.units, t.unlisted = map[string]*heldUnit{}, map[string]*heldUnit{}
	if t.commit.IsZero() {
		return nil
	}
	if t.inventory == nil {
		var err error
		t.others, err = p.hasFiles()
		return err
	}
	for _, name := range t.inventory.units {
		if !isUnitName(name) {
			continue
		}
		u, err := p.folder(name)
		if err != nil {
			return err
		}
		u.known = true
		t.units[name] = u
	}
	return nil
}

// folder finds the folder of a unit.
func (p *pass) folder(name string) (*heldUnit, error) {
	u := &heldUnit{name: name}
	entry, err := p.lookup(p.at(name))
	switch {
	case err == nil && entry.Mode == filemode.Dir:
		u.dir = entry.Hash
	case err != nil && !errors.Is(err, repo.ErrPathNotFound):
		return nil, err
	}
	return u, nil
}

// unitFolder is the folder of a unit. One that is not listed is looked at at once: somebody
// else's files may be there, or ours, if the list was tampered with.
func (p *pass) unitFolder(name string) (*heldUnit, error) {
	if u := p.tip.units[name]; u != nil {
		return u, nil
	}
	if u := p.tip.unlisted[name]; u != nil {
		return u, nil
	}
	u, err := p.folder(name)
	if err != nil {
		return nil, err
	}
	p.tip.unlisted[name] = u
	if u.dir.IsZero() {
		return u, nil
	}
	return u, p.load(u)
}

// lookup finds a path of the output branch. Folders that the last pass read are not
// decoded again, so that a fleet of many units costs no more than the change.
func (p *pass) lookup(name string) (repo.Entry, error) {
	entry := repo.Entry{Mode: filemode.Dir, Hash: p.tip.tree}
	if name == "." {
		return entry, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if entry.Mode != filemode.Dir {
			return repo.Entry{}, fmt.Errorf("%s: %w", name, repo.ErrPathNotFound)
		}
		dir, err := p.dir(entry.Hash)
		if err != nil {
			return repo.Entry{}, err
		}
		var ok bool
		if entry, ok = dir[part]; !ok {
			return repo.Entry{}, fmt.Errorf("%s: %w", name, repo.ErrPathNotFound)
		}
	}
	return entry, nil
}

// dir returns the entries of a folder.
func (p *pass) dir(h plumbing.Hash) (map[string]repo.Entry, error) {
	if dir, ok := p.dirs[h]; ok {
		return dir, nil
	}
	dir, ok := p.memory.dirs[h]
	if !ok {
		list, err := p.reader.Tree(h)
		if err != nil {
			return nil, err
		}
		dir = make(map[string]repo.Entry, len(list))
		for _, e := range list {
			dir[e.Name] = e
		}
	}
	p.dirs[h] = dir
	return dir, nil
}

// at is a path below the output path, from the root of the branch.
func (p *pass) at(elem ...string) string {
	return path.Join(append([]string{p.pipeline.Spec.Output.Path}, elem...)...)
}

// hasFiles reports whether anything is at the output path.
func (p *pass) hasFiles() (bool, error) {
	entry, err := p.lookup(p.at())
	if errors.Is(err, repo.ErrPathNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if entry.Mode != filemode.Dir {
		return true, nil
	}
	entries, err := p.dir(entry.Hash)
	return len(entries) > 0, err
}

// refuseAdoption stops where other people's files are and nobody said that we may move in.
func (p *pass) refuseAdoption() bool {
	if !p.tip.others || p.pipeline.Spec.Output.Adopt {
		return false
	}
	p.refuse(diag.AdoptionRefused, "", "choose another branch or path, or set output.adopt: true to move in beside the files that are there",
		"branch %s of %s holds files at %q and no inventory of agentry: nothing is written",
		p.pipeline.Spec.Output.Branch, p.output.URL(), p.pipeline.Spec.Output.Path)
	return true
}

// load reads the folder of a unit and its inventory, which may have been lost and then
// comes from the branch's history.
func (p *pass) load(u *heldUnit) error {
	if u.entries != nil {
		return nil
	}
	u.entries = map[string]repo.Entry{}
	if !u.dir.IsZero() {
		list, err := p.reader.Tree(u.dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			u.entries[e.Name] = e
		}
	}
	if err := p.unitInventory(u); err != nil {
		return fmt.Errorf("unit %s: %w", u.name, err)
	}
	return nil
}

// unitInventory reads the inventory of a unit. The history of a folder that is not listed
// says nothing: whoever came after us owns what is there now.
func (p *pass) unitInventory(u *heldUnit) error {
	u.inv = &unitInventory{}
	commit := &repo.Commit{Tree: p.tip.tree}
	if u.known {
		commit.Parents = p.tip.parents
	}
	age, err := newest(p.reader, commit, p.at(u.name, inventoryFile), func(data []byte) (bool, error) {
		*u.inv = unitInventory{}
		ok := json.Unmarshal(data, u.inv) == nil && u.inv.Version > 0
		return ok, checkVersion(u.inv.Version)
	})
	if err != nil {
		return err
	}
	if age < 0 {
		*u.inv = unitInventory{}
	}
	u.known, u.lost = u.known || age == 0, age != 0
	u.inv.Files = slices.DeleteFunc(u.inv.Files, func(f inventoryFileEntry) bool { return !isFileName(f.Path) })
	return nil
}

// lastWritten is a file of a unit as we wrote it, whatever somebody made of it since. A
// file that is gone is gone on purpose: that is the way to replace a workload.
func (p *pass) lastWritten(u *heldUnit, name string) ([]byte, error) {
	data, err := p.blob(u, name)
	listed, ours := u.inv.file(name)
	if err != nil || !ours || sha(data) == listed.SHA256 {
		return data, err
	}
	commit := &repo.Commit{Tree: p.tip.tree, Parents: p.tip.parents}
	age, err := newest(p.reader, commit, p.at(u.name, name), func(old []byte) (bool, error) {
		data = old
		return sha(old) == listed.SHA256, nil
	})
	if err == nil && age < 0 {
		err = repo.ErrPathNotFound
	}
	return data, err
}

// blob reads a file of a unit's folder.
func (p *pass) blob(u *heldUnit, name string) ([]byte, error) {
	e, ok := u.entries[name]
	if !ok || !e.Mode.IsFile() {
		return nil, repo.ErrPathNotFound
	}
	return p.reader.Blob(e.Hash, maxOutputBytes)
}
