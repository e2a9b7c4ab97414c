package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Edit is one step of a history: an edit of documents, or something else that a driver does. It says by itself all that
// it does, so that it can be made without those before it; one that finds nothing to do does nothing.
type Edit struct {
	Op     string
	Source int
	File   string
	Doc    Doc    // which object, by its identity; or the new one
	Field  string // to set
	To     string // another file
	N      int    // the value, or the source of the other file
}

// String is the edit as a person reads it.
func (e Edit) String() string {
	at := fmt.Sprintf("source %d: %s of %s", e.Source, e.Doc.ID(), e.File)
	switch e.Op {
	case "set":
		return fmt.Sprintf("%s: set %s to %d, making it %s", at, e.Field, e.N, e.Doc)
	case "add":
		return fmt.Sprintf("add to source %d, %s: %s", e.Source, e.File, e.Doc)
	case "move", "copy":
		return fmt.Sprintf("%s: %s to %s of source %d", at, e.Op, e.To, e.N)
	case "drop":
		return at + ": " + e.Op
	case "remove", "repair":
		return fmt.Sprintf("source %d: %s %s", e.Source, e.Op, e.File)
	case "rename":
		return fmt.Sprintf("source %d: rename %s to %s", e.Source, e.File, e.To)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", e.Op, e.N, e.Field))
}

// Files are the documents of a source by path. Lists are never changed in place, because the past shares them.
type Files map[string][]Doc

// at finds the place of an identity in a file.
func (f Files) at(file string, d Doc) int {
	return slices.IndexFunc(f[file], func(x Doc) bool { return x.ID() == d.ID() })
}

func (f Files) put(file string, docs []Doc) {
	if f[file] = docs; len(docs) == 0 {
		delete(f, file)
	}
}

// Add adds a document to a file.
func (f Files) Add(file string, d Doc) { f[file] = append(slices.Clone(f[file]), d) }

// take removes one document.
func (f Files) take(file string, i int) Doc {
	d := f[file][i]
	f.put(file, slices.Delete(slices.Clone(f[file]), i, i+1))
	return d
}

// Texts are the contents of the files.
func (f Files) Texts() map[string]string {
	out := map[string]string{}
	for name := range f {
		out[name] = f.text(name)
	}
	return out
}

func (f Files) text(name string) string {
	var texts []string
	for _, d := range f[name] {
		texts = append(texts, d.Text())
	}
	return strings.Join(texts, "---\n")
}

// Apply makes an edit of documents, and reports whether it is one.
func Apply(sources []Files, e Edit) bool {
	if e.Source >= len(sources) {
		return false
	}
	files := sources[e.Source]
	i := files.at(e.File, e.Doc)
	switch e.Op {
	case "add":
		files.Add(e.File, e.Doc)
	case "remove":
		delete(files, e.File)
	case "rename":
		moved := files[e.File]
		delete(files, e.File)
		for _, d := range moved {
			files.Add(e.To, d)
		}
	case "repair":
		files.change(e.File, func(_ int, d Doc) Doc {
			d.Fault = Good
			return d
		})
	case "set":
		files.change(e.File, func(n int, d Doc) Doc {
			if n == i {
				return d.set(e.Field, e.N)
			}
			return d
		})
	case "drop":
		if i >= 0 {
			files.take(e.File, i)
		}
	case "move":
		if i >= 0 {
			sources[e.N%len(sources)].Add(e.To, files.take(e.File, i))
		}
	case "copy":
		if i >= 0 {
			sources[e.N%len(sources)].Add(e.To, files[e.File][i])
		}
	default:
		return false
	}
	return true
}

// change changes the documents of a file.
func (f Files) change(file string, change func(n int, d Doc) Doc) {
	docs := slices.Clone(f[file])
	for i, d := range docs {
		docs[i] = change(i, d)
	}
	f.put(file, docs)
}

// Author makes up edits of documents.
type Author struct {
	Rand    *rand.Rand
	Sources []Files
	Folder  func(source int) string // where new and moved documents go

	last int // the last number of a version
}

// Beginning returns the sources with which histories begin. The first has two agents with their objects, at the paths
// in and more; the second has objects that one of the agents selects.
func Beginning() []Files {
	first := Files{
		"in/a/cache.yaml": {{Kind: "Integration", Namespace: "a", Name: "cache", Inst: "a/main"}},
		"in/a/accounts.yaml": {{Kind: "ServiceAccount", Namespace: "a", Name: "agent"},
			{Kind: "ServiceAccount", Namespace: "a", Name: "web"}},
		"more/secrets.yaml": {{Kind: "Secret", Namespace: "a", Name: "s"}, {Kind: "Secret", Namespace: "b", Name: "s"}},
		"more/jobs.yaml":    {{Kind: "Secret", Namespace: "a", Name: "jobs"}},
	}
	for _, ns := range []string{"a", "b"} {
		first["in/"+ns+"/agent.yaml"] = []Doc{{Kind: "GrafanaAgent", Namespace: ns, Name: "agent"},
			{Kind: "MetricsInstance", Namespace: ns, Name: "main", Tier: 1, Ref: "s"}}
		first["in/"+ns+"/monitors.yaml"] = []Doc{{Kind: "ServiceMonitor", Namespace: ns, Name: "web", Ref: "s"},
			{Kind: "ServiceMonitor", Namespace: ns, Name: "db", Tier: 1}}
		first["in/"+ns+"/space.yaml"] = []Doc{{Kind: "Namespace", Name: ns, Team: true}}
	}
	first.Add("in/a/agent.yaml", Doc{Kind: "MetricsInstance", Namespace: "a", Name: "second", Tier: 2, Sel: 1,
		Wide: true, Jobs: "jobs"})
	return []Files{first, {
		"in/c.yaml": {{Kind: "Integration", Namespace: "c", Name: "shared", Addr: 1},
			{Kind: "ServiceMonitor", Namespace: "a", Name: "far", CA: "ca"},
			{Kind: "ServiceAccount", Namespace: "c", Name: "agent"}},
		"in/ca.yaml": {{Kind: "ConfigMap", Namespace: "a", Name: "ca"}},
	}}
}

// fresh are objects that edits add.
var fresh = []Doc{
	{Kind: "GrafanaAgent", Namespace: "a", Name: "other", Sel: 1},
	{Kind: "GrafanaAgent", Namespace: "a", Name: "agent-shard-1"}, // collides with a second shard
	{Kind: "MetricsInstance", Namespace: "b", Name: "second", Tier: 1},
	{Kind: "MetricsInstance", Namespace: "a", Name: "third"},
	{Kind: "ServiceMonitor", Namespace: "a", Name: "new", Ref: "s"},
	{Kind: "ServiceMonitor", Namespace: "b", Name: "new", Tier: 1, Slow: true},
	{Kind: "Integration", Namespace: "c", Name: "twin", Addr: 1},
	{Kind: "Integration", Namespace: "a", Name: "twin", Addr: 2, Unique: true},
	{Kind: "Integration", Namespace: "b", Name: "cache", Inst: "b/main"},
	{Kind: "Secret", Namespace: "b", Name: "jobs"},
	{Kind: "Secret", Namespace: "a", Name: "agent-config"}, // collides with what is rendered
	{Kind: "ConfigMap", Namespace: "b", Name: "ca"},
	{Kind: "Namespace", Name: "c", Team: true},
	{Kind: "ServiceAccount", Namespace: "a", Name: "new"},
	{Kind: "ServiceAccount", Namespace: "b", Name: "agent"},
}

// pick takes a file of the inputs and a document of it, mostly of the first source.
func (a *Author) pick() (source int, file string, d Doc, ok bool) {
	var there []int
	for i, files := range a.Sources {
		if len(files) > 0 {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0, "", Doc{}, false
	}
	source = there[0]
	if a.Rand.IntN(4) == 0 {
		source = there[len(there)-1]
	}
	names := slices.Sorted(maps.Keys(a.Sources[source]))
	file = names[a.Rand.IntN(len(names))]
	docs := a.Sources[source][file]
	return source, file, docs[a.Rand.IntN(len(docs))], true
}

// Number is a new one: nothing was written with it before.
func (a *Author) Number() int {
	a.last++
	return a.last
}

// Add makes up an edit that adds an object.
func (a *Author) Add() Edit {
	d, source := fresh[a.Rand.IntN(len(fresh))], a.Rand.IntN(len(a.Sources))
	d.Rev = a.Number()
	return Edit{Op: "add", Source: source, Doc: d,
		File: path.Join(a.Folder(source), []string{"new.yaml", "c.yaml"}[a.Rand.IntN(2)])}
}

// Break makes up an edit after which a document cannot be read: of a GrafanaAgent every other time, because all of its
// unit hangs on it.
func (a *Author) Break() Edit {
	source, file, d, ok := a.pick()
	for tries := 0; ok && d.Kind != "GrafanaAgent" && tries < 8; tries++ {
		source, file, d, ok = a.pick()
	}
	if !ok {
		return a.Add()
	}
	n := int(Broken)
	return Edit{Op: "set", Source: source, File: file, Field: "fault", N: n, Doc: d.set("fault", n)}
}

// Edit makes up an edit of a document or of its file.
func (a *Author) Edit() Edit {
	source, file, d, ok := a.pick()
	if !ok {
		return a.Add()
	}
	e := Edit{Source: source, File: file, Doc: d}
	set := func(field string, n int) Edit {
		e.Op, e.Field, e.N, e.Doc = "set", field, n, d.set(field, n)
		return e
	}
	to := func(op, name string) Edit {
		e.Op, e.N = op, a.Rand.IntN(len(a.Sources))
		e.To = path.Join(a.Folder(e.N), fmt.Sprintf("%s-%d.yaml", name, a.Rand.IntN(3)))
		return e
	}
	known := fields[d.Kind]
	switch n := a.Rand.IntN(78); {
	case n < 12:
		return set(known[0], a.Number())
	case n < 28:
		return set("fault", 1+a.Rand.IntN(int(faults)-1))
	case n < 46:
		return set(known[1+a.Rand.IntN(len(known)-1)], a.Rand.IntN(6))
	case n < 56:
		return set("fault", 0)
	case n < 60:
		e.Op = "repair"
	case n < 66:
		e.Op = "drop"
	case n < 70:
		return to("move", "moved")
	case n < 72:
		return to("copy", "again")
	case n < 75:
		e.Op, e.To = "rename", path.Join(path.Dir(file), fmt.Sprintf("renamed-%d.yaml", a.Rand.IntN(3)))
	default:
		e.Op = "remove"
	}
	return e
}
