package gitsync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Files that describe the output to agentry itself and to other programs. None of them
// may end in .yaml, .yml or .json: Argo CD would load it as a manifest.
const (
	inventoryFile = ".agentry/inventory"
	unitsFile     = ".agentry/units"
	metadataFile  = "hydrator.metadata"
	readmeFile    = "README.md"
	gitAttributes = ".gitattributes"
)

// Limits of what is read from the output branch.
const (
	maxInventoryBytes = 16 << 20
	maxOutputBytes    = 256 << 20 // a review text of thousands of monitors is tens of MiB
)

// inventory is .agentry/inventory at the output path. It is rewritten by every commit, so
// it does not grow with the number of units; these stand in .agentry/units.
type inventory struct {
	Version  int    `json:"version"`
	Pipeline string `json:"pipeline"`
	// Sources are the bases: the input commits that the output was rendered from.
	Sources []inventorySource `json:"sources"`
	// Root are the files beside this folder that are ours.
	Root []inventoryFileEntry `json:"root"`
	// Held are the units that an error keeps as they were.
	Held []string `json:"held,omitempty"`

	units []string // of unitsFile
}

type inventorySource struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// inventoryFileEntry is a file of ours.
type inventoryFileEntry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Object string `json:"object,omitempty"` // Kind/namespace/name
}

// unitInventory is .agentry/inventory in a unit's folder.
type unitInventory struct {
	Version int `json:"version"`
	// State is complete, or incomplete when objects with errors were left out.
	State string `json:"state"`
	// Secrets is the policy that the files were rendered under.
	Secrets SecretsPolicy        `json:"secrets"`
	Files   []inventoryFileEntry `json:"files"`
	// Inputs are the objects that the unit was rendered from, as Kind/namespace/name: who
	// vanishes from them because a file cannot be read was not deleted.
	Inputs []string `json:"inputs"`
}

const (
	inventoryVersion = 1
	stateComplete    = "complete"
	stateIncomplete  = "incomplete"
)

func (u *unitInventory) file(name string) (inventoryFileEntry, bool) {
	for _, f := range u.Files {
		if f.Path == name {
			return f, true
		}
	}
	return inventoryFileEntry{}, false
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// encodeJSON is two-space indented, with a final newline.
func encodeJSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// maxHistory is how many commits back a lost inventory is looked for.
const maxHistory = 50

// findInventory reads the inventory of a commit; when somebody removed it, that of the
// newest ancestor that has one. Nil when there is none.
func findInventory(rd *repo.Reader, tip *repo.Commit, outputPath string) (*inventory, error) {
	commit := tip
	for range maxHistory {
		inv, err := readInventory(rd, commit, outputPath)
		if inv != nil || err != nil {
			return inv, err
		}
		if len(commit.Parents) == 0 {
			return nil, nil
		}
		if commit, err = rd.Commit(commit.Parents[0]); errors.Is(err, repo.ErrObjectNotFound) {
			return nil, nil // the end of a shallow history
		} else if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func readInventory(rd *repo.Reader, commit *repo.Commit, outputPath string) (*inventory, error) {
	var inv inventory
	if ok, err := readJSON(rd, commit, path.Join(outputPath, inventoryFile), &inv); !ok {
		return nil, err
	}
	if inv.Version > inventoryVersion {
		return nil, fmt.Errorf("%s has version %d, which a newer agentry wrote: this one knows %d", inventoryFile, inv.Version, inventoryVersion)
	}
	if _, err := readJSON(rd, commit, path.Join(outputPath, unitsFile), &inv.units); err != nil {
		return nil, err
	}
	return &inv, nil
}

// readJSON decodes a file of a commit; false when there is none. A file that does not
// decode counts as none: it was tampered with, and its history has a good one.
func readJSON(rd *repo.Reader, commit *repo.Commit, name string, v any) (bool, error) {
	entry, err := rd.Lookup(commit.Tree, name)
	if errors.Is(err, repo.ErrPathNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := rd.Blob(entry.Hash, maxInventoryBytes)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return json.Unmarshal(data, v) == nil, nil
}
