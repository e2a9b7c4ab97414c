package hierarchy

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// scanLimit is the number of candidates up to which every candidate is compared. Above it, the label index of their
// kind is built and used.
const scanLimit = 256

// index finds objects of one kind. The objects are sorted by namespace and name, so a namespace is a range. Posting
// lists of labels and of label keys are built when first needed.
type index struct {
	objects []*manifest.Object
	ranges  map[string]span
	byLabel map[manifest.Label][]int32 // positions in objects, ascending
	byKey   map[string][]int32
	found   map[string][]*manifest.Object // results of everywhere, by the text of the selector
}

// span is a range [from, to) of positions.
type span struct{ from, to int }

func (b *builder) index(kind string) *index {
	ix := b.indexes[kind]
	if ix == nil {
		ix = newIndex(b.set.Kind(kind))
		b.indexes[kind] = ix
	}
	return ix
}

func newIndex(objects []*manifest.Object) *index {
	ix := &index{objects: objects, ranges: map[string]span{}, found: map[string][]*manifest.Object{}}
	for from := 0; from < len(objects); {
		to := endOfNamespace(objects, from)
		ix.ranges[objects[from].Namespace] = span{from, to}
		from = to
	}
	return ix
}

// endOfNamespace returns the end of the namespace that begins at from. It compares few objects: the stride doubles
// until it is too long, and is then halved.
func endOfNamespace(objects []*manifest.Object, from int) int {
	stride := 1
	for from+stride < len(objects) && objects[from+stride].Namespace == objects[from].Namespace {
		stride *= 2
	}
	last := from + stride/2 // is in the namespace
	rest := objects[last:min(from+stride, len(objects))]
	return last + sort.Search(len(rest), func(i int) bool { return rest[i].Namespace != objects[from].Namespace })
}

func (ix *index) count(namespaces []string, all bool) int {
	if all {
		return len(ix.objects)
	}
	n := 0
	for _, ns := range namespaces {
		n += ix.ranges[ns].to - ix.ranges[ns].from
	}
	return n
}

// find returns the matching objects in the given namespaces, which are sorted, or in all namespaces. The caller must
// not change the result.
func (ix *index) find(namespaces []string, all bool, sel labels.Selector) []*manifest.Object {
	if all {
		return ix.everywhere(sel)
	}
	return ix.in(namespaces, sel)
}

// everywhere returns the matching objects in all namespaces. Equal selectors share one result, because fleets repeat
// them; the caller must not change it.
func (ix *index) everywhere(sel labels.Selector) []*manifest.Object {
	if sel.Empty() {
		return ix.objects
	}
	text := sel.String()
	found, ok := ix.found[text]
	if !ok {
		found = ix.match([]span{{0, len(ix.objects)}}, len(ix.objects), sel)
		ix.found[text] = found
	}
	return found
}

// in returns the matching objects in the given namespaces, which are sorted. The caller must not change the result.
func (ix *index) in(namespaces []string, sel labels.Selector) []*manifest.Object {
	var spans []span
	total := 0
	for _, ns := range namespaces {
		if s, ok := ix.ranges[ns]; ok {
			spans = append(spans, s)
			total += s.to - s.from
		}
	}
	switch {
	case !sel.Empty():
		return ix.match(spans, total, sel)
	case len(spans) == 1:
		// A copy: a hierarchy can outlive its set, and must not keep all of its objects in memory.
		return slices.Clone(ix.objects[spans[0].from:spans[0].to])
	}
	out := make([]*manifest.Object, 0, total)
	for _, s := range spans {
		out = append(out, ix.objects[s.from:s.to]...)
	}
	return out
}

// match returns the matching objects of ascending spans with total objects. It compares all of them, or only the
// objects in the selector's shortest posting list.
func (ix *index) match(spans []span, total int, sel labels.Selector) []*manifest.Object {
	var out []*manifest.Object
	if total > scanLimit {
		if postings, ok := ix.postings(sel); ok && len(postings) < total {
			for _, p := range within(postings, spans) {
				if o := ix.objects[p]; sel.Matches(&o.Labels) {
					out = append(out, o)
				}
			}
			return out
		}
	}
	for _, s := range spans {
		for _, o := range ix.objects[s.from:s.to] {
			if sel.Matches(&o.Labels) {
				out = append(out, o)
			}
		}
	}
	return out
}

// within returns the positions that lie in one of the ascending spans. It searches the longer of the two lists.
func within(postings []int32, spans []span) []int32 {
	var out []int32
	if len(postings) < len(spans) {
		for _, p := range postings {
			i := sort.Search(len(spans), func(i int) bool { return spans[i].to > int(p) })
			if i < len(spans) && spans[i].from <= int(p) {
				out = append(out, p)
			}
		}
		return out
	}
	for _, s := range spans {
		first := sort.Search(len(postings), func(i int) bool { return int(postings[i]) >= s.from })
		for _, p := range postings[first:] {
			if int(p) >= s.to {
				break
			}
			out = append(out, p)
		}
	}
	return out
}

// postings returns the positions of all objects that meet the most selective requirement for a label or its values.
// It returns false if there is no such requirement.
func (ix *index) postings(sel labels.Selector) ([]int32, bool) {
	ix.build()
	requirements, _ := sel.Requirements()
	best, shortest := -1, 0
	for i := range requirements {
		n := 0
		switch r := &requirements[i]; r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			for _, v := range r.ValuesUnsorted() {
				n += len(ix.byLabel[manifest.Label{Name: r.Key(), Value: v}])
			}
		case selection.Exists:
			n = len(ix.byKey[r.Key()])
		default:
			continue
		}
		if best < 0 || n < shortest {
			best, shortest = i, n
		}
	}
	if best < 0 {
		return nil, false
	}
	r := &requirements[best]
	if r.Operator() == selection.Exists {
		return ix.byKey[r.Key()], true
	}
	return ix.anyOf(r.Key(), r.ValuesUnsorted()), true
}

// anyOf merges the posting lists of values of one key. Since an object has one value for a key, only repeated values
// give duplicates.
func (ix *index) anyOf(key string, values []string) []int32 {
	if len(values) == 1 {
		return ix.byLabel[manifest.Label{Name: key, Value: values[0]}]
	}
	var merged []int32
	for _, v := range values {
		merged = append(merged, ix.byLabel[manifest.Label{Name: key, Value: v}]...)
	}
	slices.Sort(merged)
	return slices.Compact(merged)
}

func (ix *index) build() {
	if ix.byLabel != nil {
		return
	}
	ix.byLabel = make(map[manifest.Label][]int32, len(ix.objects))
	ix.byKey = map[string][]int32{}
	for i, o := range ix.objects {
		for _, l := range o.Labels {
			ix.byLabel[l] = append(ix.byLabel[l], int32(i))
			ix.byKey[l.Name] = append(ix.byKey[l.Name], int32(i))
		}
	}
}
