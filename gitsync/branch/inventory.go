package branch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Files that describe the output to agentry itself and to other programs. None of them
// may end in .yaml, .yml or .json: Argo CD would load it as a manifest.
const (
	InventoryFile  = ".agentry/inventory"
	UnitsFile      = ".agentry/units"
	MetadataFile   = "hydrator.metadata"
	ReadmeFile     = "README.md"
	AttributesFile = ".gitattributes"
)

// Limits of what is read from the output branch.
const (
	maxInventoryBytes = 16 << 20
	MaxOutputBytes    = 256 << 20 // a review text of thousands of monitors is tens of MiB
)

// Inventory is .agentry/inventory at the output path. It is rewritten by every commit, so
// it does not grow with the number of units; these stand in .agentry/units.
type Inventory struct {
	Version  int    `json:"version"`
	Pipeline string `json:"pipeline"`
	// Sources are the bases: the input commits that the output was rendered from.
	Sources []SourceCommit `json:"sources"`
	// Root are the files beside this folder that are ours.
	Root []FileEntry `json:"root"`
	// Held are the objects that are not rendered as they are in the sources.
	Held []Record `json:"held,omitempty"`
	// HeldIn are the units whose README.md tells of something that is held.
	HeldIn []string `json:"heldIn,omitempty"`

	units   []string // of UnitsFile
	Damaged bool     // it, or the list of units, is not on the tip and comes from the branch's history
}

type SourceCommit struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// FileEntry is a file of ours.
type FileEntry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Object string `json:"object,omitempty"` // Kind/namespace/name
	// Masked is the SHA-256 of an agent's configuration without the secrets in it, if there
	// are any: where it stays equal, the agent takes no notice of a change.
	Masked string `json:"masked,omitempty"`
}

// UnitInventory is .agentry/inventory in a unit's folder.
type UnitInventory struct {
	Version int `json:"version"`
	// State is complete, or incomplete when objects with errors were left out.
	State string `json:"state"`
	// Secrets is the policy that the files were rendered under.
	Secrets pipeline.SecretsPolicy `json:"secrets"`
	Files   []FileEntry            `json:"files"`
	// Inputs are the objects that the unit was rendered from, as Kind/namespace/name, and
	// their Namespaces: who vanishes from them because a file cannot be read was not deleted.
	// Stand-ins are among them, what was left out is not.
	Inputs []string `json:"inputs"`
	// Readme tells that the README.md beside is ours. It is none of Files, as it is rewritten
	// without the payload.
	Readme bool `json:"readme,omitempty"`
}

const (
	InventoryVersion = 1
	StateComplete    = "complete"
	StateIncomplete  = "incomplete"
)

func (u *UnitInventory) File(name string) (FileEntry, bool) {
	for _, f := range u.Files {
		if f.Path == name {
			return f, true
		}
	}
	return FileEntry{}, false
}

// Owns reports whether a file of the unit holds an object.
func (u *UnitInventory) Owns(id manifest.ID) bool {
	return slices.ContainsFunc(u.Files, func(f FileEntry) bool { return f.Object == id.String() })
}

// SHA256 is the hexadecimal SHA-256 of a file.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// EncodeJSON is two-space indented, with a final newline.
func EncodeJSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// maxHistory is how many commits back a lost inventory is looked for.
const maxHistory = 50

// findInventory reads the inventory of a commit and the list of units; what somebody
// removed or damaged is that of the newest ancestor that has it. Nil when there is none.
func findInventory(rd *object.Reader, tip *object.Commit, outputPath string) (*Inventory, error) {
	var inv Inventory
	age, err := newest(rd, tip, path.Join(outputPath, InventoryFile), func(data []byte) (bool, error) {
		inv = Inventory{}
		ok := json.Unmarshal(data, &inv) == nil && inv.Version > 0
		return ok, checkVersion(inv.Version)
	})
	if err != nil || age < 0 {
		return nil, err
	}
	inv.Damaged = age > 0
	age, err = newest(rd, tip, path.Join(outputPath, UnitsFile), func(data []byte) (bool, error) {
		inv.units = nil
		return json.Unmarshal(data, &inv.units) == nil && inv.units != nil, nil
	})
	inv.Damaged = inv.Damaged || age != 0
	return &inv, err
}

// checkVersion refuses to touch what a newer agentry wrote.
func checkVersion(version int) error {
	if version > InventoryVersion {
		return fmt.Errorf("%s has version %d, which a newer agentry wrote: this one knows %d", InventoryFile, version, InventoryVersion)
	}
	return nil
}

// newest looks in a commit and its ancestors for a file that decode takes, and returns how
// many commits back it is; -1 when there is none. A file that decode does not take counts
// as none, and so does a huge one: it was tampered with, and its history has a good one.
func newest(rd *object.Reader, commit *object.Commit, name string, decode func([]byte) (bool, error)) (age int, err error) {
	for age := range maxHistory {
		data, err := ReadFile(rd, commit.Tree, name)
		if err != nil {
			return -1, err
		}
		if data != nil {
			if ok, err := decode(data); ok || err != nil {
				return age, err
			}
		}
		if len(commit.Parents) == 0 {
			return -1, nil
		}
		if commit, err = rd.Commit(commit.Parents[0]); errors.Is(err, object.ErrNotFound) {
			return -1, nil // the end of a shallow history
		} else if err != nil {
			return -1, err
		}
	}
	return -1, nil
}

// ReadFile reads a file of a tree; nil when there is none, or something else at its path.
func ReadFile(rd *object.Reader, tree plumbing.Hash, name string) ([]byte, error) {
	entry, err := rd.Lookup(tree, name)
	if errors.Is(err, object.ErrPathNotFound) || err == nil && !entry.Mode.IsFile() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := rd.Blob(entry.Hash, maxInventoryBytes)
	if errors.Is(err, limit.ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

// isUnitName reports whether a list of units may hold a name: whoever can write to the
// branch could lead us out of our path with others.
func isUnitName(name string) bool {
	namespace, agent, _ := strings.Cut(name, "/")
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(agent)) == 0
}

// isFileName reports whether a unit's inventory may hold a name: its files lie beside it.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}
