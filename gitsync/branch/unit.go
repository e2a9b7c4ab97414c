package branch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Unit is the folder of a unit on the output branch. [Unit.Load] sets Entries and Inventory.
type Unit struct {
	Name      string
	Known     bool          // whether it is listed, or has its own inventory
	Dir       plumbing.Hash // zero if the folder does not exist
	Entries   map[string]object.Entry
	Inventory *UnitInventory // empty if there is none
	Damaged   bool           // whether the tip lacks the inventory

	branch *Branch
}

// Exists reports whether the branch has the unit.
func (u *Unit) Exists() bool { return u.Known && !u.Dir.IsZero() }

// Load reads the folder of a unit and its inventory, which it reads from the branch's history if somebody removed it.
func (u *Unit) Load() error {
	if u.Entries != nil {
		return nil
	}
	u.Entries = map[string]object.Entry{}
	if !u.Dir.IsZero() {
		list, err := u.branch.reader.Tree(u.Dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			u.Entries[e.Name] = e
		}
	}
	if err := u.readInventory(); err != nil {
		return fmt.Errorf("unit %s: %w", u.Name, err)
	}
	return nil
}

// readInventory reads the inventory of a unit. It does not search the history for an unlisted unit, whose folder
// belongs to whoever wrote it after agentry.
func (u *Unit) readInventory() error {
	b := u.branch
	u.Inventory = &UnitInventory{}
	commit := &object.Commit{Tree: b.Tree}
	if u.Known {
		commit.Parents = b.Parents
	}
	age, err := newest(b.reader, commit, b.At(u.Name, InventoryFile), func(data []byte) (bool, error) {
		*u.Inventory = UnitInventory{}
		ok := json.Unmarshal(data, u.Inventory) == nil && u.Inventory.Version > 0
		return ok, checkVersion(u.Inventory.Version)
	})
	if err != nil {
		return err
	}
	if age < 0 {
		*u.Inventory = UnitInventory{}
	}
	u.Known, u.Damaged = u.Known || age == 0, age != 0
	u.Inventory.Files = slices.DeleteFunc(u.Inventory.Files, func(f FileEntry) bool { return !isFileName(f.Path) })
	return nil
}

// Read returns the content of a file of the unit.
func (u *Unit) Read(name string) ([]byte, error) {
	e, ok := u.Entries[name]
	if !ok || !e.Mode.IsFile() {
		return nil, object.ErrPathNotFound
	}
	return u.branch.reader.Blob(e.Hash, MaxOutputBytes)
}

// Ours returns the names of agentry's files in the unit.
func (u *Unit) Ours() []string {
	out := []string{InventoryFile}
	if u.HasMetadata() {
		out = append(out, MetadataFile)
	}
	if u.Inventory.Readme {
		out = append(out, ReadmeFile)
	}
	for _, f := range u.Inventory.Files {
		out = append(out, f.Path)
	}
	return out
}

// HasMetadata reports whether the unit has a hydrator.metadata of version 1, which wrote one into each unit.
func (u *Unit) HasMetadata() bool {
	_, exists := u.Entries[MetadataFile]
	return exists && u.Inventory.Version == 1
}

// Workloads counts the workloads of the unit that are not in the given files.
func (u *Unit) Workloads(without map[string]bool) int {
	n := 0
	for _, f := range u.Inventory.Files {
		kind, _, _ := strings.Cut(f.Object, "/")
		if _, there := u.Entries[f.Path]; there && workload.IsWorkload(kind) && !without[f.Path] {
			n++
		}
	}
	return n
}
