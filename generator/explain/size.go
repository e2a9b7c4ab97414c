package explain

import (
	"cmp"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Size is how much configuration something renders to.
type Size struct {
	// Counts is the number of objects that it selects, through instances too, by kind.
	Counts map[string]int `json:"counts,omitempty"`
	Jobs   int            `json:"jobs"`
	// Bytes is the length of the configurations of a GrafanaAgent, or of the jobs of an instance, as the files that
	// people read have them.
	Bytes int `json:"bytes"`
	// Files are the configurations of a GrafanaAgent.
	Files []FileSize `json:"files,omitempty"`
	// Largest are the objects whose jobs take most.
	Largest []Share `json:"largest,omitempty"`
}

// FileSize is a file with a configuration.
type FileSize struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Jobs  int    `json:"jobs"`
}

// Share is what the jobs of one object take.
type Share struct {
	Object Object `json:"object"`
	Jobs   int    `json:"jobs"`
	Bytes  int    `json:"bytes"`
}

// maxLargest is how many of the largest objects are listed.
const maxLargest = 10

// sizeOf returns how much a GrafanaAgent or an instance renders to. Nil if that is not what it is.
func (w *World) sizeOf(o *manifest.Object) *Size {
	if !isSelector(o.Kind) || len(w.inUnits[o.ID]) == 0 {
		return nil
	}
	out := &Size{Counts: map[string]int{}}
	shares, below := map[manifest.ID]*Share{}, map[manifest.ID]bool{}
	for _, u := range w.inUnits[o.ID] {
		u.print(w.inputs)
		u.below(o, below)
		w.share(u, o, shares)
		if o.Kind == "GrafanaAgent" {
			for _, f := range u.printed.Files {
				out.Files = append(out.Files, FileSize{f.Path, f.Bytes, len(f.Jobs)})
				out.Bytes += f.Bytes
			}
		}
	}
	for id := range below {
		out.Counts[id.Kind]++
	}
	for _, s := range shares {
		out.Jobs += s.Jobs
		if o.Kind != "GrafanaAgent" {
			out.Bytes += s.Bytes
		}
		out.Largest = append(out.Largest, *s)
	}
	slices.SortFunc(out.Largest, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Jobs, a.Jobs), a.Object.ID().Compare(b.Object.ID()))
	})
	out.Largest = out.Largest[:min(len(out.Largest), maxLargest)]
	return out
}

// share adds the jobs of a unit that an object scrapes, or all if it is the GrafanaAgent, to the objects that they come
// from. Jobs that are written by hand count for the Secret.
func (w *World) share(u *unit, o *manifest.Object, shares map[manifest.ID]*Share) {
	for of, list := range u.renders {
		if isSelector(of.Kind) {
			continue // its handwritten jobs are the Secret's
		}
		id := manifest.ID{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
		for _, r := range list {
			if o.Kind != "GrafanaAgent" && r.Instance != o.ID.String() || len(r.Jobs) == 0 {
				continue
			}
			s := shares[id]
			if s == nil {
				s = &Share{Object: Object{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}}
				if at := w.byID[id]; at != nil {
					s.Object = w.describe(at)
				}
				shares[id] = s
			}
			for _, j := range r.Jobs {
				s.Jobs, s.Bytes = s.Jobs+1, s.Bytes+j.Bytes
			}
		}
	}
}
