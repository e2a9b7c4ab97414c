package inputs

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// StoredLayout is a [Layout] in a form that can be stored.
type StoredLayout struct {
	Roots        map[string]string // their folders, by name
	ChartFolders []string
	Covered      map[string]bool
	Reads        tree.Reads
	Refs         map[string]Refs // by folder of the kustomization
}

// Stored returns the layout in a form that can be stored. It reports false if that does not have all of it: roots that
// custom resources ask for, or the state of the cluster.
func (l *Layout) Stored() (*StoredLayout, bool) {
	if l == nil || len(l.seen) > 0 || l.state.isThere {
		return nil, false
	}
	out := &StoredLayout{Roots: map[string]string{}, ChartFolders: l.ChartFolders, Covered: l.covered, Reads: l.reads,
		Refs: l.refs}
	for _, r := range l.Roots {
		if r.Digest() != (Root{Name: r.Name, Folder: r.Folder}).Digest() {
			return nil, false
		}
		out.Roots[r.Name] = r.Folder
	}
	return out, true
}

// Of returns the layout of a search with these tenants.
func (l *StoredLayout) Of(tenants manifest.Tenants) *Layout {
	out := &Layout{ChartFolders: l.ChartFolders, covered: l.Covered, reads: l.Reads, refs: l.Refs,
		seen: map[string]rootObjects{}, tenants: tenants}
	for _, name := range slices.Sorted(maps.Keys(l.Roots)) {
		out.Roots = append(out.Roots, Root{Name: name, Folder: l.Roots[name]})
	}
	return out
}
