package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// shortNames are those that kubectl takes from the CRDs and from Kubernetes.
func shortNames() map[string]string {
	return map[string]string{
		"smon": "ServiceMonitor", "pmon": "PodMonitor", "prb": "Probe", "scfg": "ScrapeConfig", "cm": "ConfigMap", "ns": "Namespace",
	}
}

// Kind returns the kind that a word means: as manifests write it, or as kubectl takes it, in any case, singular or
// plural, short, or with its group. It returns false if no kind that agentry reads is meant.
func Kind(word string) (string, bool) {
	name, _, _ := strings.Cut(strings.ToLower(word), ".")
	if kind, ok := shortNames()[name]; ok {
		return kind, true
	}
	for _, kind := range manifest.Kinds() {
		if low := strings.ToLower(kind); name == low || name == low+"s" {
			return kind, true
		}
	}
	return "", false
}

// DidYouMeanKind returns a hint with the kind that a word may mean, or nothing.
func DidYouMeanKind(word string) string {
	return diag.DidYouMean(word, append(manifest.Kinds(), "smon", "pmon", "scfg"))
}

// Find returns the objects that a reference names, in their order: KIND/namespace/name; KIND/name, in whatever
// namespace; or KIND for all. It returns false if the reference has another form or its kind is unknown.
func (w *World) Find(reference string) (found []manifest.ID, ok bool) {
	parts := strings.Split(reference, "/")
	kind, known := Kind(parts[0])
	if !known || len(parts) > 3 || slices.Contains(parts, "") {
		return nil, false
	}
	for _, id := range w.ids(kind) {
		switch {
		case len(parts) == 1,
			len(parts) == 2 && id.Name == parts[1],
			len(parts) == 3 && id.Namespace == parts[1] && id.Name == parts[2]:
			found = append(found, id)
		}
	}
	return found, true
}

// ids returns the objects of a kind by namespace and name, with those of which only the name is known: it is in the inputs,
// or a field has it.
func (w *World) ids(kind string) (out []manifest.ID) {
	for _, o := range w.objects[kind] {
		out = append(out, o.ID)
	}
	for id := range w.render.Set.Named() {
		if id.Kind == kind && w.byID[id] == nil {
			out = append(out, id)
		}
	}
	if isReferred(kind) {
		for id := range w.allUsers() {
			if id.Kind == kind && w.byID[id] == nil {
				out = append(out, id)
			}
		}
	}
	slices.SortFunc(out, manifest.ID.Compare)
	return slices.Compact(out)
}

// Labelled returns the objects whose labels a selector matches, by namespace, name and kind.
func (w *World) Labelled(s labels.Selector) (out []manifest.ID) {
	for _, list := range w.objects {
		for _, o := range list {
			if o.Meta != nil && s.Matches(labels.Set(o.Meta.Labels)) {
				out = append(out, o.ID)
			}
		}
	}
	slices.SortFunc(out, manifest.ID.Compare)
	return out
}

// hasLabels reports whether a selector matches the labels of an object.
func (w *World) hasLabels(id manifest.ID, s labels.Selector) bool {
	o := w.byID[id]
	return o != nil && o.Meta != nil && s.Matches(labels.Set(o.Meta.Labels))
}

// UnknownError is a reference that names no object.
type UnknownError struct {
	Message, Hint string
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Message }

// Resolve returns the objects that references name, as [World.Find] has them, without doubles; without a reference it
// returns all that can be selected. A selector, if there is one, must match their labels. The error is an [UnknownError].
func (w *World) Resolve(references []string, s labels.Selector) (out []manifest.ID, err error) {
	all := []manifest.ID{}
	for _, reference := range references {
		found, ok := w.Find(reference)
		if !ok {
			return nil, &UnknownError{fmt.Sprintf("%q is not KIND/namespace/name", reference), cmp.Or(DidYouMeanKind(strings.Split(reference, "/")[0]), "write it like servicemonitor/team-shop/checkout")}
		}
		if len(found) == 0 {
			return nil, w.unknown(reference)
		}
		all = append(all, found...)
	}
	if len(references) == 0 {
		for _, kind := range manifest.Kinds() {
			if !isReferred(kind) {
				all = append(all, w.ids(kind)...)
			}
		}
		slices.SortFunc(all, manifest.ID.Compare)
	}
	seen := map[manifest.ID]bool{}
	for _, id := range all {
		if !seen[id] && (s == nil || w.hasLabels(id, s)) {
			seen[id] = true
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"no object has labels " + plainly(s), "agentry tree prints all objects"}
	}
	return out, nil
}

// unknown says that nothing has a name, and what is nearest.
func (w *World) unknown(reference string) error {
	err := &UnknownError{Message: "there is no " + reference, Hint: "agentry tree prints all objects"}
	if near := w.Near(reference); len(near) > 0 {
		err.Hint = "did you mean " + strings.Join(near, ", ") + "?"
	} else if kind, _ := Kind(strings.Split(reference, "/")[0]); len(w.ids(kind)) == 0 {
		err.Hint = "the inputs have no " + kind
	}
	return err
}

// maxNearNames is how many names are suggested.
const maxNearNames = 3

// Near returns the names that are nearest to one that is not there: of the kind, first those with the same name in other
// namespaces, and then those that are spelled alike.
func (w *World) Near(reference string) (names []string) {
	parts := strings.Split(reference, "/")
	kind, _ := Kind(parts[0])
	want := strings.ToLower(parts[len(parts)-1])
	near := nearest[manifest.ID]{limit: maxNearNames}
	for _, id := range w.ids(kind) {
		d := 0
		if name := strings.ToLower(id.Name); name != want {
			if d = diag.Distance(name, want); d > max(1, len(want)/3) && !strings.Contains(name, want) {
				continue
			}
		}
		if len(parts) == 3 && id.Namespace != parts[1] {
			d += min(diag.Distance(id.Namespace, parts[1]), 2)
		}
		near.add(d, id)
	}
	for _, id := range near.list() {
		names = append(names, id.String())
	}
	return names
}

// Entry is an object that a search found.
type Entry struct {
	Object
	State State `json:"state"`
}

// Hits are what a search found.
type Hits struct {
	Total   int     `json:"total"`
	Entries []Entry `json:"items"`
}

// Index finds objects by parts of their names, files and labels. It is safe for concurrent use.
type Index struct {
	entries []Entry
	texts   []string // in lower case, in the order of the entries
}

// Index returns an index of all objects.
func (w *World) Index() *Index {
	ix := &Index{}
	for _, list := range w.objects {
		for _, o := range list {
			e := Entry{Object: w.describe(o)}
			e.State, _ = w.stateOf(o)
			ix.entries = append(ix.entries, e)
		}
	}
	slices.SortFunc(ix.entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(rankOf(a.Kind), rankOf(b.Kind)), a.ID().Compare(b.ID()))
	})
	for i := range ix.entries {
		ix.texts = append(ix.texts, ix.entries[i].text())
	}
	return ix
}

// rankOf orders kinds from the top of a hierarchy down.
func rankOf(kind string) int {
	kinds := []string{"GrafanaAgent", "MetricsInstance", "LogsInstance", "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PodLogs",
		"Integration", "MetricsIntegration", "IntegrationMonitor", "Secret", "ConfigMap", "Namespace"}
	return slices.Index(kinds, kind)
}

// text returns what a search looks in.
func (e Entry) text() string {
	var b strings.Builder
	b.WriteString(e.ID().String() + " " + e.File)
	for k, v := range e.Labels {
		b.WriteString(" " + k + "=" + v)
	}
	b.WriteString(" " + string(e.State))
	return strings.ToLower(b.String())
}

// Search returns the objects that have every word of a query, at most limit of them, from the top of the hierarchies
// down. Words are looked for in kind, namespace, name, file, labels and state, in any case.
func (ix *Index) Search(query string, limit int) Hits {
	words := strings.Fields(strings.ToLower(query))
	out := Hits{Entries: []Entry{}}
	for i, text := range ix.texts {
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			continue
		}
		if out.Total++; len(out.Entries) < limit {
			out.Entries = append(out.Entries, ix.entries[i])
		}
	}
	return out
}
