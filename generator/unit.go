package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/internal/hold"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Unit is the output of one GrafanaAgent and everything that it discovers, or the objects that are passed through to a
// namespace: one folder of the output, always a whole and consistent render.
type Unit struct {
	// Name is namespace/name of the GrafanaAgent, or what [passthrough.Unit] returns, and the unit's folder.
	Name string
	// Files are sorted by Path. [Output.WithoutBytes] drops their bytes.
	Files []File
	// Inputs are the objects that the unit was rendered from, Secrets included, sorted.
	Inputs []manifest.ID
	// Jobs are the numbers of scrape jobs of the instances that run.
	Jobs map[manifest.ID]int
	// Paused units (spec.paused) have no Files: what is on the output branch stays.
	Paused bool
	// Held are the objects that are not rendered as they are in the set, sorted by ID.
	Held []Held
	// Failed units could not be rendered even so, and have no Files: what is on the output
	// branch stays.
	Failed bool
	// Hierarchy is the hierarchy that the unit is rendered from. It has the stand-ins instead of held objects, and
	// still the objects that are left out. It is nil if the unit is passed through.
	Hierarchy *hierarchy.Hierarchy
	// Runtime is the name of the program that its pods run. It is empty if the unit is passed through.
	Runtime string
	// Beginning is what it means to those who apply the output that the unit is new, in short: see [Options.IsNew].
	Beginning *difference.Difference

	needs   []rbac.Need // of its pods, in the Kubernetes API
	names   *explain.Names
	matched map[int]bool // the numbers of the changes that match one of its objects
	diags   diag.List
	basis   basis
	// isStripped means that the files have no bytes, and isLean that they have only their bytes.
	isStripped, isLean bool
}

// objects yields the objects that the unit renders.
func (u *Unit) objects(yield func(manifest.ID) bool) {
	for i := range u.Files {
		if f := &u.Files[i]; f.Manifest && f.Object != (manifest.ID{}) && !yield(f.Object) {
			return
		}
	}
}

// Held is an object that is not rendered as it is in the set.
type Held = hold.Held

// File is one file of a unit.
type File struct {
	// Path is relative to the unit's folder, slash-separated.
	Path string
	Data []byte
	// Stored has the bytes in place of Data, unless it is nil: see [Options.Store].
	Stored Stored
	// Object is the object in the file; zero for a kustomization or a review text.
	Object manifest.ID
	// Value is the object as its Kubernetes type; a Secret has no data. It is nil for an object that is passed through,
	// for a unit beyond [Options.KeepBytes], and after [Output.WithoutBytes].
	Value workload.Resource
	// Config is the configuration that a Secret holds, alone or as one of several Secrets with a file each. It is nil
	// for any other object, and where Value is nil. ConfigKey is the key of the configuration, or of the file,
	// in the Secret.
	Config    *model.Config
	ConfigKey string
	// Manifest is false for review texts, which are not part of the payload.
	Manifest bool
	// Masked is the SHA-256 of an agent's configuration without the secrets that it
	// inlines; empty when it inlines none. The agent compares configurations by this sum, so
	// it does not notice when only a secret changed.
	Masked string
}

// Stored are the bytes of a file in another form, of Len bytes.
type Stored interface {
	Bytes() []byte
	Len() int
}

// Text returns the bytes of the file.
func (f *File) Text() []byte {
	if f.Stored != nil {
		return f.Stored.Bytes()
	}
	return f.Data
}

// Workload returns the workload in a file, or nil if there is none. One that is passed through is read.
func (f *File) Workload() workload.Resource {
	return workload.Workload(f.Object.Kind, f.Value, f.Text())
}

// newUnit makes a unit of what its hierarchy was rendered to.
func newUnit(h *hierarchy.Hierarchy, out hold.Outcome[rendered]) *Unit {
	u := &Unit{
		Name: h.Name(), Files: out.Result.files, Inputs: out.Inputs, Jobs: out.Result.jobs, Held: out.Held,
		Failed:    out.Failed,
		Hierarchy: out.Hierarchy, needs: out.Result.needs, names: out.Result.names, matched: out.Result.matched,
		diags: out.Diags,
	}
	for i := range u.diags {
		u.diags[i].Units = []string{u.Name}
	}
	slices.SortFunc(u.Inputs, manifest.ID.Compare)
	u.Inputs = slices.Compact(u.Inputs)
	return u
}

// namesOf returns the names of a unit that a search finds. It has configurations or not.
func namesOf(unit string, configs []*model.Config, files []File) *explain.Names {
	names := explain.NewNames(unit)
	for _, c := range configs {
		names.AddConfig(c)
	}
	for i := range files {
		if f := &files[i]; f.Object != (manifest.ID{}) {
			names.AddFile(f.Path, f.Object)
		}
	}
	return names.Clip()
}

// files prints the objects of a unit, and the kustomization that lists them.
func files(objects []workload.Object) ([]File, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	var out []File
	var resources []string
	for i := range objects {
		o := &objects[i]
		printed, err := o.Manifest()
		if err != nil {
			return nil, fmt.Errorf("%s cannot be written: %w", o.ID, err)
		}
		out = append(out, File{
			Path: printed.Name, Data: printed.Bytes, Object: o.ID, Value: o.Value, Config: o.Config,
			ConfigKey: o.ConfigKey(),
			Manifest:  true, Masked: o.Masked,
		})
		resources = append(resources, printed.Name)
		if review, ok := o.RedactedFile(); ok {
			out = append(out, File{Path: review.Name, Data: review.Bytes, Object: o.ID})
		}
		o.Content = nil // the text is in the manifest
	}
	out = append(out, File{Path: KustomizationFile, Data: Kustomization(resources), Manifest: true})
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Kustomization returns a kustomization.yaml that lists the resources, sorted.
func Kustomization(resources []string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	if len(resources) == 0 {
		b.WriteString("resources: []\n")
		return []byte(b.String())
	}
	b.WriteString("resources:\n")
	for _, r := range slices.Sorted(slices.Values(resources)) {
		b.WriteString("  - " + r + "\n")
	}
	return []byte(b.String())
}

// KustomizationFile is the name of the file that kustomize looks for.
const KustomizationFile = "kustomization.yaml"
