package branch

import (
	"bytes"
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
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// Files for agentry itself and for other programs. No name may end in .yaml, .yml or .json, because Argo CD would load
// the file as a manifest.
const (
	InventoryFile  = ".agentry/inventory"
	UnitsFile      = ".agentry/units"
	MetadataFile   = "hydrator.metadata"
	ReadmeFile     = "README.md"
	AttributesFile = ".gitattributes"
)

// Attributes is the content of AttributesFile. It keeps generated files out of a forge's language statistics and
// diffs.
const Attributes = "**/README.md linguist-generated=true\n**/hydrator.metadata linguist-generated=true\n" +
	"**/.agentry/* linguist-generated=true\n"

// Limits of files read from the output branch.
const (
	maxInventoryBytes = 16 << 20
	MaxOutputBytes    = 256 << 20 // the redacted configuration of thousands of monitors has tens of MiB
)

// Inventory is .agentry/inventory at the output path. It changes whenever the held objects change, so the list of units
// is in a file of its own, .agentry/units, to keep it small.
type Inventory struct {
	Version  int    `json:"version"`
	Pipeline string `json:"pipeline"`
	// Sources are the bases: the input commits that the output was rendered from. They are stored in MetadataFile, the
	// one file that every commit rewrites. Version 1 stored them here.
	Sources []SourceCommit `json:"sources,omitempty"`
	// Charts are the charts fetched for the output. They and Written are stored with the bases, not in the inventory.
	Charts  []chart.Pinned `json:"-"`
	Written `json:"-"`
	// Root lists agentry's files at the output path, outside of the units.
	Root []FileEntry `json:"root"`
	// Held lists the objects that are not rendered as in the sources.
	Held []Record `json:"held,omitempty"`
	// HeldIn lists the units whose README.md mentions held objects.
	HeldIn []string `json:"heldIn,omitempty"`

	units   []string // the content of UnitsFile
	Damaged bool     `json:"-"` // whether the inventory, UnitsFile or Bases had to be read from the branch's history
}

// Base returns the commit of a source that the output was rendered from, or zero if unknown. Of several sources with
// the URL and ref, n counts those before it: they can be at different commits, because each has its own keys.
func (inv *Inventory) Base(url, ref string, n int) (commit plumbing.Hash) {
	if inv == nil {
		return commit
	}
	for _, s := range inv.Sources {
		if s.Ref != ref || !pipeline.SameRepository(s.URL, url) {
			continue
		}
		commit = plumbing.NewHash(s.Commit)
		if n--; n < 0 {
			break
		}
	}
	return commit
}

// Bases has the fields that agentry adds to the format of MetadataFile.
type Bases struct {
	Sources []SourceCommit `json:"agentrySources,omitempty"`
	Charts  []chart.Pinned `json:"agentryCharts,omitempty"`
	Written
}

// SourceCommit is an input commit.
type SourceCommit struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// FileEntry is a file that agentry owns.
type FileEntry struct {
	Path string `json:"path"`
	// SHA256 is in inventories before version 3. Later ones rely on MetadataFile: see [Written].
	SHA256 string `json:"sha256,omitempty"`
	Object string `json:"object,omitempty"` // Kind/namespace/name
	// Masked is the SHA-256 of an agent's configuration without its secrets, if it has any. If it stays the same, the
	// agent ignores the change.
	Masked string `json:"masked,omitempty"`
}

// UnitInventory is .agentry/inventory in a unit's folder.
type UnitInventory struct {
	Version int `json:"version"`
	// State is StateComplete, or StateIncomplete if objects with errors were left out.
	State string `json:"state"`
	// Secrets and SecretRules are the secrets policies that the files were rendered with.
	Secrets     secretref.Policy      `json:"secrets"`
	SecretRules []pipeline.SecretRule `json:"secretRules,omitempty"`
	Files       []FileEntry           `json:"files"`
	// Inputs lists the objects that the unit was rendered from, as Kind/namespace/name, and their Namespaces, so that a
	// later pass can tell deleted objects from objects in unreadable files. It includes stand-ins, but not objects that
	// were left out.
	Inputs []string `json:"inputs"`
	// Jobs maps each instance with scrape jobs, as Kind/namespace/name, to their number.
	Jobs map[string]int `json:"jobs,omitempty"`
	// Readme means that agentry owns the unit's README.md. That is not in Files, because it can change without the
	// other files.
	Readme bool `json:"readme,omitempty"`
}

const (
	InventoryVersion = 3
	StateComplete    = "complete"
	StateIncomplete  = "incomplete"
)

// File looks up a file of the unit.
func (u *UnitInventory) File(name string) (FileEntry, bool) {
	return findFile(u.Files, name)
}

func findFile(files []FileEntry, name string) (FileEntry, bool) {
	i := slices.IndexFunc(files, func(f FileEntry) bool { return f.Path == name })
	if i < 0 {
		return FileEntry{}, false
	}
	return files[i], true
}

// Owns reports whether the unit has a file for the object.
func (u *UnitInventory) Owns(id manifest.ID) bool {
	return slices.ContainsFunc(u.Files, func(f FileEntry) bool { return f.Object == id.String() })
}

// SHA256 returns the hexadecimal SHA-256 of data.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// EncodeJSON encodes like Argo CD encodes hydrator.metadata: indented by two spaces, with a final newline and without
// HTML escapes.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// maxHistory is the number of commits to search for a lost inventory.
const maxHistory = 50

// findInventory reads the inventory of a commit, the list of units and the bases. It reads a file that somebody removed
// or damaged from the newest ancestor that has it. It returns nil if there is no inventory.
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
	if err != nil || inv.Version == 1 {
		return &inv, err
	}
	age, err = newest(rd, tip, path.Join(outputPath, MetadataFile), func(data []byte) (bool, error) {
		var bases Bases
		if json.Unmarshal(data, &bases) != nil || len(bases.Sources) == 0 {
			return false, nil
		}
		inv.Sources, inv.Charts, inv.Written = bases.Sources, bases.Charts, bases.Written
		return true, nil
	})
	inv.Damaged = inv.Damaged || age > 0 // age is -1 on a branch without rendered files
	return &inv, err
}

// checkVersion refuses an inventory of a newer agentry.
func checkVersion(version int) error {
	if version > InventoryVersion {
		return fmt.Errorf("%s has version %d, and needs a newer agentry: this one supports up to version %d",
			InventoryFile, version, InventoryVersion)
	}
	return nil
}

// newest searches a commit and its ancestors for a version of a file that decode accepts, and returns its distance from
// the commit, or -1. It skips versions that decode refuses or that are too large: somebody tampered with them.
func newest(rd *object.Reader, commit *object.Commit, name string, decode func([]byte) (bool, error)) (age int,
	err error) {
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

// ReadFile reads a plain file of a tree, or returns nil if there is none.
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

// isUnitName reports whether a name is valid in UnitsFile. Other names could lead out of the output path.
func isUnitName(name string) bool {
	if passthrough.IsUnit(name) {
		return true
	}
	namespace, agent, _ := strings.Cut(name, "/")
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(agent)) == 0
}

// isFileName reports whether a name is valid in a unit's inventory. A unit has no subfolders.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}
