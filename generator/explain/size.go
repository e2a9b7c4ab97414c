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
	// Bytes is the length of the configurations of a GrafanaAgent, or of the jobs of an instance, in the files that
	// people can read.
	Bytes int `json:"bytes"`
	// Shards is how many series the metrics pods of a GrafanaAgent can take.
	Shards *Shards `json:"shards,omitempty"`
	// Files are the configurations of a GrafanaAgent.
	Files []FileSize `json:"files,omitempty"`
	// Largest are the objects whose jobs have the most bytes, largest first.
	Largest []ObjectSize `json:"largest,omitempty"`
}

// FileSize is a file with a configuration.
type FileSize struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Jobs  int    `json:"jobs"`
}

// ObjectSize is how many jobs one object renders to, and how many bytes.
type ObjectSize struct {
	Object Object `json:"object"`
	Jobs   int    `json:"jobs"`
	Bytes  int    `json:"bytes"`
}

// jobs returns how many scrape jobs the file has.
func (f *File) jobs() (n int) {
	for i := range f.Parts {
		if f.Parts[i].IsJob() {
			n++
		}
	}
	return n
}

// maxLargest is how many of the largest objects are listed.
const maxLargest = 10

// sizeOf returns how much a GrafanaAgent or an instance renders to, and nil for other objects.
func (x *Explainer) sizeOf(o *manifest.Object) *Size {
	if !isSelector(o.Kind) || len(x.inUnits[o.ID]) == 0 {
		return nil
	}
	out := &Size{Counts: map[string]int{}}
	sizes, below := map[manifest.ID]*ObjectSize{}, map[manifest.ID]bool{}
	var memory []int64
	for _, u := range x.inUnits[o.ID] {
		u.print(x.inputs)
		u.below(o, below)
		x.addSizes(u, o, sizes)
		if o.Kind == "GrafanaAgent" {
			for _, f := range u.printed.Files {
				out.Files = append(out.Files, FileSize{f.Path, f.Bytes, f.jobs()})
				out.Bytes += f.Bytes
			}
			for _, s := range u.printed.Shards {
				memory = append(memory, s.Memory)
			}
		}
	}
	out.Shards = shardsOf(o, out.Files, memory)
	for id := range below {
		out.Counts[id.Kind]++
	}
	for _, s := range sizes {
		out.Jobs += s.Jobs
		if o.Kind != "GrafanaAgent" {
			out.Bytes += s.Bytes
		}
		out.Largest = append(out.Largest, *s)
	}
	slices.SortFunc(out.Largest, func(a, b ObjectSize) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Jobs, a.Jobs), a.Object.ID().Compare(b.Object.ID()))
	})
	out.Largest = out.Largest[:min(len(out.Largest), maxLargest)]
	for i := range out.Largest { // only now: to find where an object begins, its file is read
		if o := x.byID[out.Largest[i].Object.ID()]; o != nil {
			out.Largest[i].Object = x.describe(o)
		}
	}
	return out
}

// addSizes adds the jobs that an instance scrapes, or all jobs of the unit for its GrafanaAgent, to the sizes of the
// objects that the jobs come from. Hand-written jobs come from their Secret.
func (x *Explainer) addSizes(u *unit, o *manifest.Object, sizes map[manifest.ID]*ObjectSize) {
	for of, list := range u.renders {
		if isSelector(of.Kind) {
			continue // its handwritten jobs are the Secret's
		}
		id := manifest.IDOf(of)
		for _, r := range list {
			if o.Kind != "GrafanaAgent" && r.Instance != o.ID.String() || len(r.Jobs) == 0 {
				continue
			}
			s := sizes[id]
			if s == nil {
				s = &ObjectSize{Object: Object{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}}
				sizes[id] = s
			}
			for _, j := range r.Jobs {
				s.Jobs, s.Bytes = s.Jobs+1, s.Bytes+j.Bytes
			}
		}
	}
}
