package explain

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Index has the names of a render: those of its objects, also of objects that others only refer to, and those of jobs,
// writers and files. It keeps nothing else of the render. It is safe for concurrent use.
type Index struct{ tables []*Names }

// Bytes returns the memory that the index takes.
func (ix *Index) Bytes() (sum int64) {
	for _, n := range ix.tables {
		sum += n.bytes()
	}
	return sum
}

// Index returns the index of the render.
func (x *Explainer) Index() *Index {
	objects := NewNames("")
	for _, kind := range x.kinds() {
		group := Objects
		if isReferred(kind) {
			group = Referred
		}
		for _, o := range x.objects[kind] {
			d := x.describe(o)
			state, _ := x.stateOf(o)
			fields := append(make([]string, 0, 3+len(d.Labels)), d.ID().String(), d.File, string(state))
			for _, key := range slices.Sorted(maps.Keys(d.Labels)) {
				fields = append(fields, key+"="+d.Labels[key])
			}
			objects.add(group, d.Line, fields...)
		}
		for _, id := range x.onlyNamed(kind) {
			objects.add(group, 0, id.String(), "", string(x.stateOfNamed(id)))
		}
	}
	ix := &Index{tables: []*Names{objects.Clip()}}
	for i := range x.render.Units {
		if u := &x.render.Units[i]; u.Names != nil && !u.Failed {
			ix.tables = append(ix.tables, u.Names)
		}
	}
	return ix
}

// topDown returns the kinds that are read, from the top of a hierarchy down, and then those that others refer to.
func topDown() []string {
	return []string{"GrafanaAgent", "MetricsInstance", "LogsInstance", "ServiceMonitor", "PodMonitor", "Probe",
		"ScrapeConfig", "PodLogs", "Integration", "MetricsIntegration", "IntegrationMonitor", "Secret", "ConfigMap",
		manifest.NamespaceKind}
}

// rankOf returns the place of a kind in a list from the top of a hierarchy down; -1 if it is only passed through.
func rankOf(kind string) int { return slices.Index(topDown(), kind) }

// kinds returns the kinds of the objects in the order of a list, those last that are only passed through.
func (x *inputs) kinds() []string {
	var others []string
	for kind := range x.objects {
		if rankOf(kind) < 0 {
			others = append(others, kind)
		}
	}
	slices.Sort(others)
	return append(topDown(), others...)
}

// mentioned returns the Secrets and ConfigMaps that objects refer to.
func (x *inputs) mentioned() map[manifest.ID]bool {
	if x.mentions == nil {
		x.mentions = map[manifest.ID]bool{}
		for _, list := range x.objects {
			for _, o := range list {
				if !o.HasValue {
					continue
				}
				for _, id := range secretref.Mentioned(o) {
					x.mentions[id] = true
				}
			}
		}
	}
	return x.mentions
}

// isAskedFor reports whether a namespace selector asks for the labels of a namespace, and matches them.
func (x *selectors) isAskedFor(namespace string) bool {
	if x.asked == nil {
		x.asked = map[string]labels.Selector{}
		for _, parents := range x.allParents() {
			for _, p := range parents {
				for i := range p.choices {
					if c := &p.choices[i]; c.isSet() && c.namespaces != nil && !c.namespaces.Empty() {
						x.asked[c.namespaces.String()] = c.namespaces
					}
				}
			}
		}
	}
	has := hierarchy.NamespaceLabels(x.render.Set, namespace)
	for _, s := range x.asked {
		if s.Matches(has) {
			return true
		}
	}
	return false
}

// Entry is what a search found: an object; or a job, a writer or a file, with the object that it comes from.
type Entry struct {
	Object
	State State `json:"state"`
	// Pipeline is where it was found.
	Pipeline string `json:"-"`
	// Text is the name of the job, the URL of the writer, or the path of the file below the folder of its Unit.
	Text string `json:"-"`
	Unit string `json:"-"`
	// Instance has the job.
	Instance string `json:"-"`
}

// SearchResult holds the first entries that a search found, and the number of all.
type SearchResult struct {
	Total   int     `json:"total"`
	Entries []Entry `json:"items"`
}

// More returns how many entries it does not hold.
func (r SearchResult) More() int { return r.Total - len(r.Entries) }

// Search looks for words in indexes. A name must contain every word, in any letter case. Of an object it looks in kind,
// namespace, name, file, labels and state; of a job and a writer also in its object and instance; of a file also in its
// object. A word may also be in the name of the pipeline or unit, unless all of them are.
type Search struct {
	words []string
	found [groups]nearest[found]
}

// found is a row that was found.
type found struct {
	pipeline string
	names    *Names
	row      int
}

// NewSearch returns a search for the words of a query. It remembers the limit best of each group.
func NewSearch(query string, limit int) *Search {
	s := &Search{words: Words(query)}
	for g := range s.found {
		s.found[g].limit = limit
	}
	return s
}

// Search returns the objects of one render with all words of a query, as [Search.Result] does.
func (ix *Index) Search(query string, limit int) SearchResult {
	s := NewSearch(query, limit)
	s.In("", ix)
	return s.Result(Objects, Referred)
}

// Words returns the words of a query, each once.
func Words(query string) (out []string) {
	for word := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(query, separator, " "))) {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// In looks in the index of a pipeline. The pipeline may be empty, if its name does not matter.
func (s *Search) In(pipeline string, ix *Index) {
	for _, n := range ix.tables {
		words := s.missing(strings.ToLower(pipeline + separator + n.Unit))
		for i := range n.Rows {
			text := n.lower(i)
			if hasAll(text, words) {
				s.found[n.Rows[i].Group].add(rank(text, words), found{pipeline, n, i})
			}
		}
	}
}

// missing returns the words that a context does not have, or all if it has all.
func (s *Search) missing(context string) [][]byte {
	var missing, all [][]byte
	for _, word := range s.words {
		all = append(all, []byte(word))
		if !strings.Contains(context, word) {
			missing = append(missing, []byte(word))
		}
	}
	if len(missing) == 0 {
		return all
	}
	return missing
}

func hasAll(text []byte, words [][]byte) bool {
	for _, word := range words {
		if !bytes.Contains(text, word) {
			return false
		}
	}
	return true
}

// rank returns how well a text fits: 0 if a part of its name is one of the words, 1 if a part begins with one, else 2.
func rank(text []byte, words [][]byte) int {
	best := 2
	name, _, _ := bytes.Cut(text, []byte(separator))
	for part := range bytes.SplitSeq(name, []byte("/")) {
		for _, word := range words {
			if bytes.Equal(part, word) {
				return 0
			}
			if bytes.HasPrefix(part, word) {
				best = 1
			}
		}
	}
	return best
}

// Result returns what was found in some groups: first the names that are or begin with one of the words, and else in
// the order of the indexes, from the top of the hierarchies down.
func (s *Search) Result(groups ...Group) SearchResult {
	out := SearchResult{Entries: []Entry{}}
	for _, g := range groups {
		near := &s.found[g]
		out.Total += near.seen
		for _, f := range near.list()[:min(len(near.kept), near.limit-len(out.Entries))] {
			e := f.names.entry(f.row)
			e.Pipeline = f.pipeline
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}
