package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/forge"
)

// result is what a pull request would change.
type result struct {
	head    string // the commit
	base    string // the commit that it was compared with
	refused string // why the head was not rendered
	units   []unitChange
	files   []fileChange
	held    []plan.HeldObject // that the base does not hold
	diags   diag.List         // that the base does not have
	known   int               // errors and warnings of the base
}

// unitChange is a unit that changes.
type unitChange struct {
	name string
	what string // added, changed, removed
}

// fileChange is a rendered object that changes.
type fileChange struct {
	path       string
	op         string // added, changed, removed
	keys       []string
	diff       string
	plus, less int
}

// compare finds what the head changes in the output. Units that could not be rendered, in the base or
// the head, keep their folders and are reported as held.
func compare(base, head *gitsync.Report, source int) result {
	r := result{}
	if source < len(head.Sources) {
		r.head = head.Sources[source].Commit
		if head.Sources[source].Stale {
			r.refused = "the head cannot be read, or is not accepted"
		}
	}
	if source < len(base.Sources) {
		r.base = base.Sources[source].Commit
		if base.Sources[source].Stale {
			r.refused = "the branch that it would be merged into cannot be read"
		}
	}
	for _, d := range head.Diags {
		switch {
		case d.Severity == diag.Info:
		case slices.ContainsFunc(base.Diags, d.Same):
			r.known++
		default:
			r.diags = append(r.diags, d)
		}
	}
	for _, h := range head.Held {
		if !slices.ContainsFunc(base.Held, func(b plan.HeldObject) bool { return b.Object == h.Object && b.Reason.Message == h.Reason.Message }) {
			r.held = append(r.held, h)
		}
	}
	if r.refused == "" {
		r.compareUnits(base.Rendered, head.Rendered)
	}
	return r
}

func (r *result) compareUnits(base, head []*generator.Unit) {
	before, after := byName(base), byName(head)
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		b, a := before[name], after[name]
		if b != nil && stays(b) || a != nil && stays(a) {
			continue
		}
		what := "changed"
		switch {
		case b == nil:
			what, b = "added", &generator.Unit{}
		case a == nil:
			what, a = "removed", &generator.Unit{}
		}
		files := compareFiles(name, b.Files, a.Files)
		if len(files) > 0 {
			r.units = append(r.units, unitChange{name, what})
			r.files = append(r.files, files...)
		}
	}
}

// stays reports whether a unit keeps its folder.
func stays(u *generator.Unit) bool { return u.Failed || u.Paused }

func byName(units []*generator.Unit) map[string]*generator.Unit {
	out := map[string]*generator.Unit{}
	for _, u := range units {
		out[u.Name] = u
	}
	return out
}

func union[V any](a, b map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// compareFiles finds the objects of a unit that differ. Review texts are skipped: they repeat objects.
func compareFiles(unit string, before, after []generator.File) []fileChange {
	type pair struct{ b, a *generator.File }
	pairs := map[string]*pair{}
	at := func(path string) *pair {
		if pairs[path] == nil {
			pairs[path] = &pair{}
		}
		return pairs[path]
	}
	for i := range before {
		at(before[i].Path).b = &before[i]
	}
	for i := range after {
		at(after[i].Path).a = &after[i]
	}
	var out []fileChange
	for _, path := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[path]
		shown := cmp.Or(p.a, p.b)
		if !shown.Manifest || p.a != nil && p.b != nil && bytes.Equal(p.a.Data, p.b.Data) {
			continue
		}
		c := fileChange{path: unit + "/" + path, op: "changed"}
		old, now := &generator.File{}, &generator.File{}
		if p.b != nil {
			old = p.b
		} else {
			c.op = "added"
		}
		if p.a != nil {
			now = p.a
		} else {
			c.op = "removed"
		}
		c.show(shown.Object.Kind, old, now)
		out = append(out, c)
	}
	return out
}

// show fills in what may be shown: of a Secret its keys, and the configuration without secrets.
func (c *fileChange) show(kind string, old, now *generator.File) {
	text := func(f *generator.File) string { return string(f.Data) }
	if kind == "Secret" {
		c.keys = compareKeys(old.Data, now.Data)
		text = func(f *generator.File) string { return string(f.Redacted) }
	}
	c.diff, c.plus, c.less = unified(text(old), text(now))
}

// compareKeys returns the keys of a Secret that differ.
func compareKeys(old, now []byte) []string {
	before, after := secretKeys(old), secretKeys(now)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		b, hadIt := before[key]
		a, hasIt := after[key]
		switch {
		case !hadIt:
			out = append(out, forge.Code(key)+" added")
		case !hasIt:
			out = append(out, forge.Code(key)+" removed")
		case a != b:
			out = append(out, forge.Code(key)+" changed")
		}
	}
	if len(out) == 0 && len(old) > 0 && len(now) > 0 {
		out = append(out, "no value")
	}
	return out
}

// secretKeys returns the values of a rendered Secret by key.
func secretKeys(text []byte) map[string]string {
	var s struct {
		Data       map[string]string `json:"data"`
		StringData map[string]string `json:"stringData"`
	}
	if err := yaml.Unmarshal(text, &s); err != nil {
		return map[string]string{"": "unreadable"} // nothing of it is shown
	}
	out := map[string]string{}
	for k, v := range s.Data {
		out[k] = "data " + v
	}
	for k, v := range s.StringData {
		out[k] = "stringData " + v
	}
	return out
}

// isEmpty reports whether there is nothing to report.
func (r *result) isEmpty() bool {
	return r.refused == "" && len(r.files) == 0 && len(r.held) == 0 && len(r.diags) == 0
}

// verdict returns the commit status.
func (r *result) verdict() (forge.State, string) {
	errors := r.diags.Count(diag.Error)
	switch {
	case r.refused != "":
		return forge.Failure, r.refused
	case errors > 0 || len(r.held) > 0:
		return forge.Failure, r.summary()
	}
	return forge.Success, r.summary()
}

// summary returns one line about everything.
func (r *result) summary() string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	for _, what := range []string{"added", "changed", "removed"} {
		n := 0
		for _, u := range r.units {
			if u.what == what {
				n++
			}
		}
		count(n, "unit "+what, "units "+what)
	}
	count(len(r.held), "object would be held", "objects would be held")
	count(r.diags.Count(diag.Error), "new error", "new errors")
	count(r.diags.Count(diag.Warning), "new warning", "new warnings")
	if len(parts) == 0 {
		return "No changes"
	}
	return strings.Join(parts, ", ")
}
