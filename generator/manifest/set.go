package manifest

import (
	"maps"
	"slices"
	"strings"
)

// Set is the objects of any number of files, in the order of their identities. It is immutable, and safe for
// concurrent reading.
type Set struct {
	objects    []*Object
	byKind     map[string][]*Object
	duplicates [][]*Object
	leftOut    []*Object
	named      map[ID]Named
	rights     []*Object
	encrypted  []EncryptedFile
	broken     map[string]bool // the kinds that broken documents name; "" is any
	shadowing  bool            // an object of the set has other definitions, which are left out
	repeated   map[ID]bool     // Namespaces with several equal definitions, of which the set has the first
	names      *names
}

// names represents the identities of a set without listing them: sets with the same pointer have the same identities.
type names struct {
	of      *names      // the names of the set that [Set.With] was called on, or nil
	present map[ID]bool // true for objects that With added or replaced, false for removed ones
}

// same reports whether two sets are known to have the same identities.
func (n *names) same(other *names) bool {
	return n == other || n.of != nil && n.of == other.of && maps.Equal(n.present, other.present)
}

// NewSet merges results in any order. Objects with the same identity are all left out, even equal ones:
// otherwise editing the wrong one would have no effect. See [Set.Duplicates]. Only Namespaces with the same labels are
// one: each of several folders may define the Namespace that it needs.
func NewSet(results ...Result) *Set {
	all := sorted(results)
	s := &Set{objects: make([]*Object, 0, len(all)), byKind: map[string][]*Object{}, named: map[ID]Named{},
		names: &names{}, repeated: map[ID]bool{}, broken: map[string]bool{}}
	for i, end := 0, 0; i < len(all); i = end {
		for end = i + 1; end < len(all) && all[end].ID == all[i].ID; end++ {
		}
		if !AreOne(all[i:end]) {
			s.duplicates = append(s.duplicates, slices.Clone(all[i:end]))
			continue
		}
		if end-i > 1 {
			s.repeated[all[i].ID] = true
		}
		s.add(all[i])
	}
	for _, r := range results {
		s.leftOut = append(s.leftOut, r.LeftOut...)
		for _, kind := range r.BrokenKinds {
			s.broken[kind] = true
		}
		s.rights = append(s.rights, r.Rights...)
		s.encrypted = append(s.encrypted, r.Encrypted...)
		for _, n := range r.Named {
			s.named[n.ID] = n
		}
		if r.Broken > 0 && len(r.BrokenKinds) == 0 {
			s.broken[""] = true
		}
	}
	written := append(s.leftOut, slices.Concat(s.duplicates...)...)
	s.leftOut = s.absent(written)
	s.shadowing = len(s.leftOut) < len(written)
	slices.SortFunc(s.rights, (*Object).comparePlace)
	return s
}

// sorted returns the objects of all results by identity, and objects of one identity by position. It sorts each
// namespace apart, because most of the work is comparing equal prefixes.
func sorted(results []Result) []*Object {
	byNamespace := map[string][]*Object{}
	count := 0
	for _, r := range results {
		count += len(r.Objects)
		for _, o := range r.Objects {
			byNamespace[o.Namespace] = append(byNamespace[o.Namespace], o)
		}
	}
	all := make([]*Object, 0, count)
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		objects := byNamespace[namespace]
		slices.SortFunc(objects, func(a, b *Object) int {
			if c := strings.Compare(a.Name, b.Name); c != 0 {
				return c
			}
			if c := strings.Compare(a.Kind, b.Kind); c != 0 {
				return c
			}
			return a.comparePlace(b)
		})
		all = append(all, objects...)
	}
	return all
}

// AreOne reports whether definitions of the same identity define one object: there is one, or they are Namespaces with
// the same labels, which are all that is read of a Namespace.
func AreOne(definitions []*Object) bool {
	first := definitions[0]
	return len(definitions) == 1 || !slices.ContainsFunc(definitions, func(o *Object) bool {
		return o.Kind != NamespaceKind || !slices.Equal(o.Labels, first.Labels)
	})
}

func (s *Set) add(o *Object) {
	s.objects = append(s.objects, o)
	s.byKind[o.Kind] = append(s.byKind[o.Kind], o)
}

// All returns the objects in the order of their identities. The caller must not change the slice.
func (s *Set) All() []*Object { return s.objects }

// Kind returns the objects of a kind, by namespace and name. The caller must not change the slice.
func (s *Set) Kind(kind string) []*Object { return s.byKind[kind] }

// Get returns the object with an identity, or nil. What is encrypted counts as absent, because nothing can be read of
// it.
func (s *Set) Get(id ID) *Object {
	if o := s.Find(id); o != nil && !(o.IsForeign && (id.Kind == "Secret" || id.Kind == "ConfigMap")) {
		return o
	}
	return nil
}

// Find returns the object with an identity, encrypted or not, or nil.
func (s *Set) Find(id ID) *Object {
	i, found := find(s.objects, id)
	if !found {
		return nil
	}
	return s.objects[i]
}

// Renamed returns the object that had an identity before kustomize renamed it, or nil if there is none or more than
// one.
func (s *Set) Renamed(id ID) *Object {
	var out *Object
	of := s.byKind[id.Kind]
	first, _ := find(of, ID{Kind: id.Kind, Namespace: id.Namespace})
	for _, o := range of[first:] {
		switch {
		case o.Namespace != id.Namespace:
			return out
		case !slices.Contains(o.EarlierNames, id.Name):
		case out != nil:
			return nil
		default:
			out = o
		}
	}
	return out
}

func find(sorted []*Object, id ID) (int, bool) {
	return slices.BinarySearchFunc(sorted, id, func(o *Object, id ID) int { return o.ID.Compare(id) })
}

// Replace returns a set in which the objects replace those with the same identities. It only copies pointers.
// It returns false if the set lacks one of the identities; then call [NewSet] with all results.
func (s *Set) Replace(objects []*Object) (*Set, bool) {
	out := &Set{objects: slices.Clone(s.objects), byKind: maps.Clone(s.byKind), duplicates: s.duplicates,
		leftOut: s.leftOut, named: s.named, rights: s.rights, encrypted: s.encrypted, broken: s.broken,
		shadowing: s.shadowing, repeated: s.repeated, names: s.names}
	copied := map[string]bool{}
	for _, o := range objects {
		i, found := find(out.objects, o.ID)
		if !found {
			return nil, false
		}
		out.objects[i] = o
		if !copied[o.Kind] {
			copied[o.Kind] = true
			out.byKind[o.Kind] = slices.Clone(out.byKind[o.Kind])
		}
		if i, found = find(out.byKind[o.Kind], o.ID); found {
			out.byKind[o.Kind][i] = o
		}
	}
	return out, true
}

// Change returns a set without the objects in gone and with those in came. It only copies pointers. It returns
// false if one of them has several definitions; then call [NewSet] with all results.
func (s *Set) Change(gone, came []*Object) (*Set, bool) {
	changes := make(map[ID]*Object, len(came))
	for _, o := range gone {
		if s.Find(o.ID) != o || s.repeated[o.ID] {
			return nil, false
		}
		changes[o.ID] = nil
	}
	sameNames := len(gone) == len(came)
	for _, o := range came {
		other, isGone := changes[o.ID]
		if other != nil || !isGone && (s.Find(o.ID) != nil || s.IsLeftOut(o.ID)) {
			return nil, false
		}
		changes[o.ID] = o
		sameNames = sameNames && isGone
	}
	switch {
	case sameNames:
		return s.Replace(came)
	case s.shadowing:
		return nil, false
	}
	out := s.With(changes)
	out.names = &names{} // does not refer to the names before, so that they can be freed
	return out, true
}

// SameNames reports whether two sets are known to have the same identities: both come from one set by
// [Set.Replace], or from such sets by [Set.With] with the same identities. Its cost does not depend on the size
// of the sets.
func (s *Set) SameNames(other *Set) bool { return s.names.same(other.names) }

// Replaced maps the objects of an earlier set that have changed to the objects of this set. It returns false if
// the two sets are not known to have the same identities.
func (s *Set) Replaced(before *Set) (map[*Object]*Object, bool) {
	if !s.SameNames(before) {
		return nil, false
	}
	out := map[*Object]*Object{}
	for i, old := range before.objects {
		if o := s.objects[i]; o != old {
			out[old] = o
		}
	}
	return out, true
}

// With returns a set with the objects of the map replaced or added, or removed if they are nil. An object of
// the map is in the set even if its identity has duplicates.
func (s *Set) With(objects map[ID]*Object) *Set {
	present := make(map[ID]bool, len(objects))
	for id, o := range objects {
		present[id] = o != nil
	}
	out := &Set{byKind: maps.Clone(s.byKind), duplicates: s.duplicates, named: s.named, rights: s.rights,
		encrypted: s.encrypted, broken: s.broken, repeated: s.repeated, names: &names{of: s.names, present: present}}
	out.objects = with(s.objects, objects)
	kinds := map[string]map[ID]*Object{}
	for id, o := range objects {
		if kinds[id.Kind] == nil {
			kinds[id.Kind] = map[ID]*Object{}
		}
		kinds[id.Kind][id] = o
	}
	for kind, objects := range kinds {
		out.byKind[kind] = with(s.byKind[kind], objects)
	}
	out.leftOut = out.absent(s.leftOut)
	return out
}

// with replaces, adds and removes objects in a sorted list.
func with(sorted []*Object, objects map[ID]*Object) []*Object {
	out := make([]*Object, 0, len(sorted)+len(objects))
	from := 0
	for _, id := range slices.SortedFunc(maps.Keys(objects), ID.Compare) {
		i, found := find(sorted[from:], id)
		out = append(out, sorted[from:from+i]...)
		if from += i; found {
			from++
		}
		if o := objects[id]; o != nil {
			out = append(out, o)
		}
	}
	return append(out, sorted[from:]...)
}
