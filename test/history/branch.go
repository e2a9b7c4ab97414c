package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// The formats of docs/output-branch-reference.md, declared again so that the model does not rely on the code that it
// checks.

// The files in which a branch describes itself.
const (
	InventoryFile = ".agentry/inventory"
	UnitsFile     = ".agentry/units"
	MetadataFile  = "hydrator.metadata"
	ReadmeFile    = "README.md"
)

// Branch is an output branch at the path of a pipeline, with what it says of itself.
type Branch struct {
	Files map[string]string
	Inventory
	Metadata
	Units []string
}

// Inventory is InventoryFile.
type Inventory struct {
	Version  int         `json:"version"`
	Pipeline string      `json:"pipeline"`
	Root     []FileEntry `json:"root"`
	Held     []Record    `json:"held"`
}

// Source is a source at the commit that the branch was rendered from.
type Source struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// FileEntry is a file of agentry.
type FileEntry struct {
	Path string `json:"path"`
}

// UnitInventory is the InventoryFile of a unit.
type UnitInventory struct {
	Secrets string      `json:"secrets"`
	Files   []FileEntry `json:"files"`
	Inputs  []string    `json:"inputs"`
	Readme  bool        `json:"readme"`
}

// Place is a file or a path of a source.
type Place struct {
	Source string `json:"source"`
	Ref    string `json:"ref"`
	Path   string `json:"path"`
}

// Record is a held object, with its version if it is not left out.
type Record struct {
	Place
	Object string   `json:"object"`
	Units  []string `json:"units"`
	Commit string   `json:"commit"`
	Blob   string   `json:"blob"`
	File   string   `json:"file"`
	Hidden []Place  `json:"hidden"`
}

// Metadata is MetadataFile.
type Metadata struct {
	RepoURL    string `json:"repoURL"`
	DrySHA     string `json:"drySha"`
	References []struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	} `json:"references"`
	Sources []Source `json:"agentrySources"`
}

// ReadBranch reads what the files of a branch say of it.
func ReadBranch(files map[string]string) (*Branch, error) {
	b := &Branch{Files: files}
	if err := b.read(InventoryFile, &b.Inventory); err != nil {
		return nil, err
	}
	if b.Version != 3 {
		return nil, fmt.Errorf("the inventory is of version %d", b.Version)
	}
	if files[MetadataFile] != "" { // a branch without a merged proposal has none
		if err := b.read(MetadataFile, &b.Metadata); err != nil {
			return nil, err
		}
	}
	return b, b.read(UnitsFile, &b.Units)
}

func (b *Branch) read(name string, into any) error {
	text, ok := b.Files[name]
	if !ok {
		return fmt.Errorf("there is no %s", name)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Unit reads the inventory of a unit.
func (b *Branch) Unit(name string) (UnitInventory, error) {
	var u UnitInventory
	return u, b.read(path.Join(name, InventoryFile), &u)
}

// Owned returns the files of agentry, without those of units to skip whose inventory is lost.
func (b *Branch) Owned(skip func(unit string) bool) (map[string]bool, error) {
	out := map[string]bool{InventoryFile: true, UnitsFile: true, MetadataFile: true}
	for _, f := range b.Root {
		out[f.Path] = true
	}
	for _, r := range b.Held {
		if r.File != "" {
			out[r.File] = true
		}
	}
	for _, name := range b.Units {
		u, err := b.Unit(name)
		if err != nil && skip(name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[path.Join(name, InventoryFile)] = true
		if u.Readme {
			out[path.Join(name, ReadmeFile)] = true
		}
		for _, f := range u.Files {
			out[path.Join(name, f.Path)] = true
		}
	}
	return out, nil
}

// CheckMetadata checks the references of a branch that is written directly: to the commits of its sources.
func (b *Branch) CheckMetadata() error {
	if len(b.Sources) == 0 || b.DrySHA != b.Sources[0].Commit || b.RepoURL != b.Sources[0].URL {
		return fmt.Errorf("drySha is %s of %s, the bases are %v", b.DrySHA, b.RepoURL, b.Sources)
	}
	for _, s := range b.Sources[1:] {
		refers := false
		for _, r := range b.References {
			refers = refers || r.Commit.SHA == s.Commit
		}
		if !refers {
			return fmt.Errorf("%s does not refer to %+v", MetadataFile, s)
		}
	}
	return nil
}

// CheckUnits checks that the kustomization lists the units.
func (b *Branch) CheckUnits() error {
	want, got := string(generator.Kustomization(b.Units)), b.Files[generator.KustomizationFile]
	if want != got {
		return fmt.Errorf("the list of units differs; -want +got:\n%s", cmp.Diff(want, got))
	}
	return nil
}

// CheckOwners checks that the files that agentry does not own are exactly those of others, unchanged.
func CheckOwners(all map[string]string, owned map[string]bool, theirs map[string]string) error {
	for name, text := range all {
		want, foreign := theirs[name]
		switch {
		case foreign && text != want:
			return fmt.Errorf("%s of others is %q, they left %q", name, text, want)
		case !foreign && !owned[name]:
			return fmt.Errorf("%s is in no inventory, and of nobody else", name)
		}
	}
	for name := range theirs {
		if _, there := all[name]; !there {
			return fmt.Errorf("%s of others is gone", name)
		}
	}
	return nil
}

// CheckSecrets checks that no secret is in the files, except in those that are rendered if secrets may be in clear.
func CheckSecrets(files map[string]string, plain bool) error {
	for name, text := range files {
		if strings.Contains(text, SecretBytes) && (!plain || strings.Contains("/"+name, "/.agentry/")) {
			return fmt.Errorf("%s holds a secret", name)
		}
	}
	return nil
}

// Documents returns what a pipeline reads of a source at a commit, or nil if nobody committed that.
type Documents func(source int, commit string) Files

// State returns what the branch says of the units on it and of the versions that it keeps. Each must have been good at
// the place that the branch names.
func (b *Branch) State(at Documents) (State, error) {
	st := State{units: map[string]*folder{}}
	for i, s := range b.Sources {
		files := at(i, s.Commit)
		if files == nil {
			return st, fmt.Errorf("source %d has no commit %s", i, s.Commit)
		}
		st.Base = append(st.Base, files)
	}
	for _, name := range b.Units {
		u, err := b.Unit(name)
		if err != nil {
			return st, err
		}
		f := &folder{inputs: docs{}, plain: u.Secrets == "plaintext", files: map[string]bool{}}
		for _, text := range u.Inputs {
			if id, ok := manifest.ParseID(text); ok {
				f.inputs[id] = Doc{} // its version follows from the records and the base
			}
		}
		for _, file := range u.Files {
			f.files[file.Path] = true
		}
		st.units[name] = f
	}
	for _, r := range b.Held {
		out, err := b.record(r, at)
		if err != nil {
			return st, fmt.Errorf("held %s: %w", r.Object, err)
		}
		st.records = append(st.records, out...)
	}
	slices.SortFunc(st.records, record.compare)
	return st, nil
}

// record returns a record of the branch, for each unit that it is for.
func (b *Branch) record(r Record, at Documents) ([]record, error) {
	id, ok := manifest.ParseID(r.Object)
	if !ok {
		return nil, errors.New("that is not an object")
	}
	out := record{id: id}
	for _, p := range r.Hidden {
		if i := b.source(p); i >= 0 {
			out.hidden = append(out.hidden, place{i, p.Path})
		}
	}
	if r.Commit != "" {
		if out.source = b.source(r.Place); out.source < 0 {
			return nil, fmt.Errorf("its source %s is none of the pipeline", r.Source)
		}
		files := at(out.source, r.Commit)
		if blob := plumbing.ComputeHash(plumbing.BlobObject, []byte(files.text(r.Path))).String(); blob != r.Blob {
			return nil, fmt.Errorf("%s of %s has the blob %s, not %s", r.Path, r.Commit, blob, r.Blob)
		}
		for _, d := range files[r.Path] {
			if d.ID() == out.id && d.readable() {
				if out.doc != (Doc{}) {
					return nil, fmt.Errorf("%s of %s defines it twice", r.Path, r.Commit)
				}
				out.doc = d
			}
		}
		if out.doc == (Doc{}) {
			return nil, fmt.Errorf("%s of %s does not define it well", r.Path, r.Commit)
		}
		if r.File != "" && digest(b.Files[r.File]) != digest(out.doc.Text()) {
			return nil, fmt.Errorf("%s has another text than %s at %s", r.File, r.Path, r.Commit)
		}
	}
	if len(r.Units) == 0 {
		return []record{out}, nil
	}
	var all []record
	for _, unit := range r.Units {
		out.unit = unit
		all = append(all, out)
	}
	return all, nil
}

// digest is that of the only object of a text.
func digest(text string) string {
	objects := manifest.Parse(manifest.File{Path: "x.yaml", Data: []byte(text)}, parseOptions).Objects
	if len(objects) != 1 {
		return ""
	}
	return fmt.Sprint(objects[0].Digest)
}

func (b *Branch) source(p Place) int {
	return slices.IndexFunc(b.Sources, func(s Source) bool { return s.URL == p.Source && s.Ref == p.Ref })
}

// Differs says how a branch describes itself otherwise than a model expects; "" if it does not.
func (s State) Differs(got State) string {
	want, is := s.lines(), got.lines()
	if slices.Equal(want, is) {
		return ""
	}
	return "what the branch says of itself; -want +got:\n" + cmp.Diff(want, is)
}

// lines are what a branch says of units and versions.
func (s State) lines() []string {
	var out []string
	for name, f := range s.units {
		for id := range f.inputs {
			out = append(out, fmt.Sprintf("%s is rendered from %s", name, id))
		}
		for _, file := range slices.Sorted(maps.Keys(f.files)) {
			out = append(out, fmt.Sprintf("%s has %s", name, file))
		}
		out = append(out, fmt.Sprintf("%s has secrets in clear: %v", name, f.plain))
	}
	for _, r := range s.records {
		isForAll := slices.ContainsFunc(s.records, func(all record) bool {
			return all.unit == "" && all.id == r.id && all.doc == r.doc
		})
		if r.doc != (Doc{}) && (r.unit == "" || !isForAll) {
			out = append(out, fmt.Sprintf("%s is held for %q as %s", r.id, r.unit, r.doc))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
