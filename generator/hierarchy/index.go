package hierarchy

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// scanLimit is how many candidates are compared one by one before it is worth to build
// the label index of a kind.
const scanLimit = 256

// index finds the objects of one kind. The objects are sorted by namespace and name, so
// a namespace is a range; labels have posting lists, made when first needed.
type index struct {
	objects []*manifest.Object
	byLabel map[label][]int32 // positions in objects, ascending
}

type label struct{ key, value string }

func (b *builder) index(kind string) *index {
	ix := b.indexes[kind]
	if ix == nil {
		ix = &index{objects: b.set.Kind(kind)}
		b.indexes[kind] = ix
	}
	return ix
}

// namespace returns the range [from, to) of a namespace's objects.
func (ix *index) namespace(name string) (from, to int) {
	from = sort.Search(len(ix.objects), func(i int) bool { return ix.objects[i].Namespace >= name })
	to = from + sort.Search(len(ix.objects)-from, func(i int) bool { return ix.objects[from+i].Namespace > name })
	return from, to
}

func (ix *index) count(namespaces []string, all bool) int {
	if all {
		return len(ix.objects)
	}
	n := 0
	for _, ns := range namespaces {
		from, to := ix.namespace(ns)
		n += to - from
	}
	return n
}

// everywhere returns the matching objects of all namespaces.
func (ix *index) everywhere(sel labels.Selector) []*manifest.Object {
	if sel.Empty() {
		return ix.objects
	}
	return ix.match(0, len(ix.objects), sel, nil)
}

// in returns the matching objects of the given namespaces, which are sorted.
func (ix *index) in(namespaces []string, sel labels.Selector) []*manifest.Object {
	if len(namespaces) == 1 {
		from, to := ix.namespace(namespaces[0])
		if sel.Empty() {
			return ix.objects[from:to:to]
		}
		return ix.match(from, to, sel, nil)
	}
	var out []*manifest.Object
	for _, ns := range namespaces {
		from, to := ix.namespace(ns)
		if sel.Empty() {
			out = append(out, ix.objects[from:to]...)
			continue
		}
		out = ix.match(from, to, sel, out)
	}
	return out
}

// match appends the matching objects in [from, to). It compares each, or only those on
// the shortest posting list that the selector's equality requirements give.
func (ix *index) match(from, to int, sel labels.Selector, out []*manifest.Object) []*manifest.Object {
	if to-from > scanLimit {
		if postings, ok := ix.postings(sel); ok {
			first := sort.Search(len(postings), func(i int) bool { return int(postings[i]) >= from })
			for _, p := range postings[first:] {
				if int(p) >= to {
					break
				}
				if o := ix.objects[p]; sel.Matches(labels.Set(o.Meta.Labels)) {
					out = append(out, o)
				}
			}
			return out
		}
	}
	for _, o := range ix.objects[from:to] {
		if sel.Matches(labels.Set(o.Meta.Labels)) {
			out = append(out, o)
		}
	}
	return out
}

// postings returns the positions of all objects that fulfil the most selective
// requirement that asks for a value; false when there is none.
func (ix *index) postings(sel labels.Selector) ([]int32, bool) {
	requirements, _ := sel.Requirements()
	var best []int32
	found := false
	for _, r := range requirements {
		if op := r.Operator(); op != selection.In && op != selection.Equals && op != selection.DoubleEquals {
			continue
		}
		list := ix.anyOf(r.Key(), r.ValuesUnsorted())
		if !found || len(list) < len(best) {
			best, found = list, true
		}
	}
	return best, found
}

// anyOf merges the posting lists of one key's values; an object has one value a key, so
// there are no doubles.
func (ix *index) anyOf(key string, values []string) []int32 {
	ix.build()
	if len(values) == 1 {
		return ix.byLabel[label{key, values[0]}]
	}
	var merged []int32
	for _, v := range values {
		merged = append(merged, ix.byLabel[label{key, v}]...)
	}
	slices.Sort(merged)
	return slices.Compact(merged)
}

func (ix *index) build() {
	if ix.byLabel != nil {
		return
	}
	ix.byLabel = make(map[label][]int32, len(ix.objects))
	for i, o := range ix.objects {
		for k, v := range o.Meta.Labels {
			l := label{k, v}
			ix.byLabel[l] = append(ix.byLabel[l], int32(i))
		}
	}
}
