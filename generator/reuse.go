package generator

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// basis holds the inputs that a unit was rendered from. A unit with an unchanged basis is reused in the next output.
type basis struct {
	objects      []*manifest.Object               // the objects of the hierarchy, in its order
	dependencies map[manifest.ID]*manifest.Object // nil if not found
	external     map[manifest.ID]*manifest.External
	leftOut      map[manifest.ID]bool             // objects that the set leaves out because of an error
	renamed      map[manifest.ID]*manifest.Object // the objects under kustomize's names, by the names not found; or nil
	diags        string                           // of the hierarchy, as text
	hasAccount   bool                             // the ServiceAccount of the pods is in the inputs
	usedLastGood bool                             // it depends on last good versions, which may change
}

func newBasis(h *hierarchy.Hierarchy, set *manifest.Set, dependencies map[manifest.ID]*manifest.Object,
	usedLastGood bool) basis {
	b := basis{dependencies: dependencies, external: map[manifest.ID]*manifest.External{},
		leftOut: map[manifest.ID]bool{}, renamed: map[manifest.ID]*manifest.Object{}, diags: diagText(h.Diags),
		usedLastGood: usedLastGood}
	h.Objects(func(o *manifest.Object) bool {
		b.objects = append(b.objects, o)
		return true
	})
	for id, o := range dependencies {
		if o == nil {
			b.renamed[id] = set.Renamed(id)
		}
		if set.IsLeftOut(id) {
			b.leftOut[id] = true
		}
		if external := set.Named()[id].External; external != nil {
			b.external[id] = external
		}
	}
	return b
}

// is reports whether a hierarchy has this basis: all of its objects, and those that they refer to, are the same.
func (b *basis) is(h *hierarchy.Hierarchy, set *manifest.Set) bool {
	n, equal := 0, true
	h.Objects(func(o *manifest.Object) bool {
		equal = n < len(b.objects) && b.objects[n] == o
		n++
		return equal
	})
	if !equal || n != len(b.objects) {
		return false
	}
	for id, o := range b.dependencies {
		if set.Get(id) != o || set.IsLeftOut(id) != b.leftOut[id] || set.Named()[id].External != b.external[id] ||
			o == nil && set.Renamed(id) != b.renamed[id] {
			return false
		}
	}
	return b.diags == diagText(h.Diags)
}

// dependsOn reports whether the basis refers to one of the objects.
func (b *basis) dependsOn(objects map[manifest.ID]bool) bool {
	if len(objects) < len(b.dependencies) {
		for id := range objects {
			if _, ok := b.dependencies[id]; ok {
				return true
			}
		}
		return false
	}
	for id := range b.dependencies {
		if objects[id] {
			return true
		}
	}
	return false
}

// known holds the parts of an earlier render that can be used again for another set.
type known struct {
	units  map[string]*Unit // of GrafanaAgents, by name, whatever conflicts there were
	passed map[string]*Unit // of objects that are passed through, by name
	// hierarchies belong to the set; nil if they have to be built. before are the hierarchies of the earlier render in
	// the same order, and replaced are the objects that differ.
	hierarchies, before []*hierarchy.Hierarchy
	replaced            map[manifest.ID]bool
	unselected          unselected
}

// known returns the parts of this output, which may be nil, that can be used again for another set.
func (out *Output) known(set *manifest.Set) known {
	if out == nil {
		return known{}
	}
	k := known{units: byName(out.alone), passed: byName(out.Units[len(out.alone):])}
	if out.renderer.set == nil { // it was restored
		return k
	}
	replaced, ok := set.Replaced(out.renderer.set)
	if !ok {
		return k
	}
	if k.hierarchies, ok = hierarchy.Rebuild(out.Hierarchies, replaced); !ok {
		return k
	}
	k.before, k.replaced = out.Hierarchies, make(map[manifest.ID]bool, len(replaced))
	for o := range replaced {
		k.replaced[o.ID] = true
	}
	k.unselected = out.unselected.without(k.replaced)
	return k
}

func byName(units []*Unit) map[string]*Unit {
	out := make(map[string]*Unit, len(units))
	for _, u := range units {
		out[u.Name] = u
	}
	return out
}

// unit returns the unit of hierarchy i of a set, or nil if it must be rendered.
func (k *known) unit(i int, h *hierarchy.Hierarchy, set *manifest.Set) *Unit {
	u := k.units[h.Name()]
	switch {
	case u == nil:
		return nil
	case k.hierarchies != nil && k.before[i] == h:
		if u.basis.dependsOn(k.replaced) {
			return nil
		}
		return u
	case !u.basis.is(h, set):
		return nil
	}
	if u.Hierarchy == nil { // it was restored: nobody else has it
		u.Hierarchy = h
	}
	if u.basis.hasAccount != hasAccount(set, u.account()) {
		return nil
	}
	return u
}

// mayTakeOver reports whether a unit whose inputs are the same may be taken over. It may not if last good versions
// decided about it, because these change; if its bytes were dropped and may be needed; or if it would change what
// Kubernetes lets nobody change.
func (r renderer) mayTakeOver(u *Unit) bool {
	return !u.basis.usedLastGood && (r.opts.Current[u] || !u.isStripped && !r.changesImmutable(u))
}

// WithoutBytes returns the output without the bytes of the units' files, which are most of what it is. It is for a
// later [Render]; [Output.Files] makes them again. Units that are not in drop keep their bytes, and so does what is
// passed through, whose bytes the objects have anyway.
func (out *Output) WithoutBytes(drop func(*Unit) bool) *Output {
	stripped := *out
	stripped.Units, stripped.alone = slices.Clone(out.Units), slices.Clone(out.alone)
	for i, u := range out.Units[:len(out.alone)] {
		if u == out.alone[i] && drop(u) {
			stripped.Units[i] = u.withoutBytes()
			stripped.alone[i] = stripped.Units[i]
		}
	}
	return &stripped
}

func (u *Unit) withoutBytes() *Unit {
	stripped := u.lean()
	stripped.isStripped, stripped.Beginning = true, nil
	for i := range stripped.Files {
		stripped.Files[i].Data, stripped.Files[i].Stored = nil, nil
	}
	return stripped
}

// lean returns the unit without the values that its files were printed from.
func (u *Unit) lean() *Unit {
	lean := *u
	lean.Files, lean.isLean = slices.Clone(u.Files), true
	for i := range lean.Files {
		lean.Files[i].Value, lean.Files[i].Config = nil, nil
	}
	return &lean
}

// stored replaces the bytes of the files by what store returns.
func (u *Unit) stored(store func([]byte) Stored) *Unit {
	for i := range u.Files {
		if f := &u.Files[i]; store != nil {
			f.Stored, f.Data = store(f.Data), nil
		}
	}
	return u
}

// bytes returns the size of the files, as they are in memory.
func (u *Unit) bytes() (sum int64) {
	for i := range u.Files {
		f := &u.Files[i]
		if sum += int64(len(f.Data)); f.Stored != nil {
			sum += int64(f.Stored.Len())
		}
	}
	return sum
}

// Files returns the files of a unit of the output, with their bytes and values.
func (out *Output) Files(u *Unit) []File {
	if !u.isLean || len(u.Files) == 0 { // a unit that stays as it is has no files
		return u.Files
	}
	set, leftOut := out.renderer.versions(u.Held)
	return out.renderer.attempt(u.Hierarchy, set, leftOut).Result.files
}

// Version returns the object of a file of a unit of the output for a comparison.
func (out *Output) Version(u *Unit, f *File) difference.Version {
	v := f.Version()
	if f.Config != nil || f.ConfigKey == "" {
		return v
	}
	v.Values = func() map[string]any {
		for _, again := range out.Files(u) {
			if again.Path == f.Path && again.Config != nil {
				return again.Version().Values()
			}
		}
		return nil
	}
	return v
}

// versions returns the set that a unit was rendered from, with the stand-ins of what it held, and the objects that were
// left out.
func (r renderer) versions(held []Held) (*manifest.Set, map[manifest.ID]bool) {
	standIns, leftOut := map[manifest.ID]*manifest.Object{}, map[manifest.ID]bool{}
	for _, h := range held {
		if h.StandIn == nil {
			leftOut[h.ID] = true
		} else {
			standIns[h.ID] = h.StandIn
		}
	}
	if len(standIns) == 0 {
		return r.set, leftOut
	}
	return r.set.With(standIns), leftOut
}

func diagText(list diag.List) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.String())
		b.WriteByte('\t')
		b.WriteString(d.Hint)
		b.WriteByte('\n')
	}
	return b.String()
}
