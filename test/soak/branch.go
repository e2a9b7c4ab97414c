package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
)

// The formats of docs/output-branch-reference.md and docs/promotion.md, declared again so that the oracle does not rely
// on the code that it checks.

const (
	inventoryName = ".agentry/inventory"
	unitsName     = ".agentry/units"
	metadataName  = "hydrator.metadata"
	readmeName    = "README.md"
)

type inventory struct {
	Version  int              `json:"version"`
	Pipeline string           `json:"pipeline"`
	Root     []inventoryEntry `json:"root"`
	Held     []record         `json:"held"`
	HeldIn   []string         `json:"heldIn"`
}

type inventorySource struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

type inventoryEntry struct {
	Path   string `json:"path"`
	Object string `json:"object"`
}

type unitInventory struct {
	Version int              `json:"version"`
	State   string           `json:"state"`
	Secrets string           `json:"secrets"`
	Files   []inventoryEntry `json:"files"`
	Inputs  []string         `json:"inputs"`
	Readme  bool             `json:"readme"`
}

type record struct {
	Object string    `json:"object"`
	Units  []string  `json:"units"`
	Source string    `json:"source"`
	Ref    string    `json:"ref"`
	Commit string    `json:"commit"`
	Date   time.Time `json:"date"`
	Path   string    `json:"path"`
	Blob   string    `json:"blob"`
	File   string    `json:"file"`
}

type hydrator struct {
	RepoURL    string `json:"repoURL"`
	DrySHA     string `json:"drySha"`
	References []struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	} `json:"references"`
	Sources []inventorySource `json:"agentrySources"`
}

type lockFile struct {
	Pipeline string            `json:"pipeline"`
	Sources  []inventorySource `json:"sources"`
}

// branch is the output of a pipeline at a commit.
type branch struct {
	pipeline *pipeline
	remote   *remote
	commit   string
	files    map[string]string // below the output path
	inventory
	hydrator
	units []string
}

// readBranch reads a branch. A missing or unreadable inventory is an error.
func readBranch(p *pipeline, r *remote, commit string) (*branch, error) {
	all, err := r.folder(commit, p.path)
	if err != nil {
		return nil, err
	}
	b := &branch{pipeline: p, remote: r, commit: commit, files: below(all, p.path)}
	if err := b.read(inventoryName, &b.inventory); err != nil {
		return nil, err
	}
	if b.Version != 3 || b.Pipeline != p.name {
		return nil, fmt.Errorf("the inventory at %s is of version %d and of pipeline %q", commit, b.Version, b.Pipeline)
	}
	if b.files[metadataName] != "" { // a branch without a merged proposal has none
		if err := b.read(metadataName, &b.hydrator); err != nil {
			return nil, err
		}
	}
	return b, b.read(unitsName, &b.units)
}

// below returns the files in a folder, by their paths in it.
func below(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if dir == "" {
			out[name] = text
		} else if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = text
		}
	}
	return out
}

// read decodes a file.
func (b *branch) read(name string, into any) error {
	text, ok := b.files[name]
	if !ok {
		return fmt.Errorf("%s: there is no %s", b.commit, path.Join(b.pipeline.path, name))
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s: %s: %w", b.commit, path.Join(b.pipeline.path, name), err)
	}
	return nil
}

// unit reads the inventory of a unit.
func (b *branch) unit(name string) (unitInventory, error) {
	var u unitInventory
	return u, b.read(path.Join(name, inventoryName), &u)
}

// owned returns the files in agentry's inventories, except those of units to skip.
func (b *branch) owned(without func(unit string) bool) (map[string]bool, error) {
	out := map[string]bool{inventoryName: true, unitsName: true, metadataName: true}
	for _, f := range b.Root {
		out[f.Path] = true
	}
	for _, r := range b.Held {
		if r.File != "" {
			out[r.File] = true
		}
	}
	for _, name := range b.units {
		u, err := b.unit(name)
		if err != nil && without(name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		own := append([]string{inventoryName}, paths(u.Files)...)
		if u.Readme {
			own = append(own, readmeName)
		}
		for _, file := range own {
			out[path.Join(name, file)] = true
		}
	}
	return out, nil
}

func paths(entries []inventoryEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}
