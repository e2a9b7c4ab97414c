package gitsync

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// tip is the output branch as it was fetched.
type tip struct {
	branch, notes repo.Tip
	commit        plumbing.Hash // zero when the branch does not exist
	tree          plumbing.Hash
	parents       []plumbing.Hash
	inventory     *inventory // nil when the path is not ours
	units         map[string]*heldUnit
	others        bool // files are at the path, and no inventory
}

// heldUnit is a unit that the output branch has.
type heldUnit struct {
	name    string
	dir     plumbing.Hash // zero when somebody removed the folder
	entries map[string]repo.Entry
	inv     *unitInventory // read when needed
}

// readTip finds what of the output branch is ours.
func (p *pass) readTip() error {
	t := &p.tip
	t.units = map[string]*heldUnit{}
	if t.commit.IsZero() {
		return nil
	}
	if t.inventory == nil {
		var err error
		t.others, err = p.hasFiles()
		return err
	}
	for _, name := range t.inventory.units {
		u := &heldUnit{name: name}
		entry, err := p.lookup(p.at(name))
		switch {
		case err == nil && entry.Mode == filemode.Dir:
			u.dir = entry.Hash
		case err != nil && !errors.Is(err, repo.ErrPathNotFound):
			return err
		}
		t.units[name] = u
	}
	return nil
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
	entries, err := p.dir(entry.Hash)
	return len(entries) > 0, err
}

// refuseAdoption stops where other people's files are and nobody said that we may move in.
func (p *pass) refuseAdoption() bool {
	if !p.tip.others || p.pipeline.Spec.Output.Adopt {
		return false
	}
	p.error(diag.AdoptionRefused, "", "choose another branch or path, or set output.adopt: true to move in beside the files that are there",
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
	inv, err := p.unitInventory(u.name)
	if err != nil {
		return fmt.Errorf("unit %s: %w", u.name, err)
	}
	u.inv = inv
	return nil
}

func (p *pass) unitInventory(name string) (*unitInventory, error) {
	commit := &repo.Commit{Tree: p.tip.tree, Parents: p.tip.parents}
	for range maxHistory {
		var inv unitInventory
		ok, err := readJSON(p.reader, commit, p.at(name, inventoryFile), &inv)
		if err != nil {
			return nil, err
		}
		if ok {
			return &inv, nil
		}
		if len(commit.Parents) == 0 {
			break
		}
		if commit, err = p.reader.Commit(commit.Parents[0]); errors.Is(err, repo.ErrObjectNotFound) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return &unitInventory{}, nil
}

// blob reads a file of a unit's folder.
func (p *pass) blob(u *heldUnit, name string) ([]byte, error) {
	e, ok := u.entries[name]
	if !ok || !e.Mode.IsFile() {
		return nil, repo.ErrPathNotFound
	}
	return p.reader.Blob(e.Hash, maxOutputBytes)
}
