package gitsync_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// edit is one step of a history. It says by itself all that it does, so that it can be made
// without those before it; one that finds nothing to do does nothing.
type edit struct {
	op     string
	source int
	file   string
	doc    doc    // which object, by its identity; or the new one
	field  string // to set
	to     string // another file
	n      int
}

// String is the edit as a person reads it.
func (e edit) String() string {
	at := fmt.Sprintf("source %d: %s of %s", e.source, e.doc.id(), e.file)
	switch e.op {
	case "set":
		return fmt.Sprintf("%s: set %s to %d, making it %s", at, e.field, e.n, e.doc)
	case "add":
		return fmt.Sprintf("add to source %d, %s: %s", e.source, e.file, e.doc)
	case "move", "copy":
		return fmt.Sprintf("%s: %s to %s of source %d", at, e.op, e.to, e.n)
	case "drop", "mend":
		return at + ": " + e.op
	case "remove", "repair":
		return fmt.Sprintf("source %d: %s %s", e.source, e.op, e.file)
	case "rename":
		return fmt.Sprintf("source %d: rename %s to %s", e.source, e.file, e.to)
	case "force":
		return fmt.Sprintf("source %d: force back to what pass %d saw; forgetting: %v", e.source, e.n, e.field != "")
	}
	return fmt.Sprintf("%s %d", e.op, e.n)
}

// sourceFiles are the documents of a source by path. Lists are never changed in place:
// the past shares them.
type sourceFiles map[string][]doc

// modelInputs are what the edits change.
type modelInputs struct {
	sources   []sourceFiles
	away      bool // the last source does not answer
	forgetful bool // servers have lost what no ref needs
	rewound   []int
	plain     bool // the secrets policy is plaintext
	label     int  // an operator label
	chosen    bool // only agents of tier 0 are selected
	orphan    bool // the output branch was deleted
	hands     []int
	replica   bool  // the next pass is made by a replica without memory as well
	restarts  []int // what becomes of the index when the next pass is made by a new process
}

// at finds the place of an identity in a file.
func (f sourceFiles) at(file string, d doc) int {
	return slices.IndexFunc(f[file], func(x doc) bool { return x.id() == d.id() })
}

func (f sourceFiles) put(file string, docs []doc) {
	if f[file] = docs; len(docs) == 0 {
		delete(f, file)
	}
}

func (f sourceFiles) add(file string, d doc) { f[file] = append(slices.Clone(f[file]), d) }

// take removes one document.
func (f sourceFiles) take(file string, i int) doc {
	d := f[file][i]
	f.put(file, slices.Delete(slices.Clone(f[file]), i, i+1))
	return d
}

// apply makes the edit. past are the inputs of earlier passes.
func (in *modelInputs) apply(e edit, past [][]sourceFiles) {
	if e.op == "add" {
		in.sources[e.source].add(e.file, e.doc)
		return
	}
	if !in.applyElsewhere(e, past) {
		in.applyToFile(e)
	}
}

// applyElsewhere makes edits that are not about a file.
func (in *modelInputs) applyElsewhere(e edit, past [][]sourceFiles) bool {
	switch e.op {
	case "force":
		if e.n < len(past) {
			in.sources[e.source] = maps.Clone(past[e.n][e.source])
		}
		in.rewound, in.forgetful = append(in.rewound, e.source), in.forgetful || e.field != ""
	case "away":
		in.away = e.n%2 == 1
	case "policy":
		in.plain = e.n%2 == 1
	case "label":
		in.label = e.n
	case "chosen":
		in.chosen = e.n%2 == 1
	case "orphan":
		in.orphan = true
	case "hand":
		in.hands = append(in.hands, e.n)
	case "replica":
		in.replica = true
	case "restart":
		in.restarts = append(in.restarts, e.n)
	case "stage":
	default:
		return false
	}
	return true
}

// applyToFile makes edits of documents and files that are there.
func (in *modelInputs) applyToFile(e edit) {
	files := in.sources[e.source]
	switch e.op {
	case "remove":
		delete(files, e.file)
	case "rename":
		moved := files[e.file]
		delete(files, e.file)
		for _, d := range moved {
			files.add(e.to, d)
		}
	case "repair":
		if docs := slices.Clone(files[e.file]); len(docs) > 0 {
			for i := range docs {
				docs[i].fault = good
			}
			files[e.file] = docs
		}
	}
	i := files.at(e.file, e.doc)
	if i < 0 {
		return
	}
	switch e.op {
	case "set":
		docs := slices.Clone(files[e.file])
		docs[i] = docs[i].set(e.field, e.n)
		files[e.file] = docs
	case "drop":
		files.take(e.file, i)
	case "move":
		in.sources[e.n%len(in.sources)].add(e.to, files.take(e.file, i))
	case "copy":
		in.sources[e.n%len(in.sources)].add(e.to, files[e.file][i])
	}
}

// author makes random edits.
type author struct {
	rand *rand.Rand
	in   modelInputs
	last int // the last number of a version
}

// modelPasses is how many passes a history makes at most.
const modelPasses = 4

// newHistory writes the edits of a history, which begins with the edits of beginning.
func newHistory(seed uint64) []edit {
	a := &author{rand: rand.New(rand.NewPCG(seed, 2)), in: newInputs()}
	for _, e := range beginning() {
		a.in.apply(e, nil)
	}
	out := []edit{{op: "stage", n: a.rand.IntN(4)}}
	if a.rand.IntN(8) == 0 {
		out = append(out, edit{op: "orphan"}) // a first pass
	}
	passes := 1 + min(a.rand.IntN(modelPasses), a.rand.IntN(modelPasses)) // short ones find most, and cost least
	for pass := range passes {
		for range 1 + a.rand.IntN(4) {
			e := a.edit(pass)
			a.in.apply(e, nil)
			out = append(out, e)
		}
		if a.rand.IntN(4*passes) == 0 {
			out = append(out, edit{op: "replica"})
		}
		if a.rand.IntN(3) == 0 {
			out = append(out, edit{op: "restart", n: a.rand.IntN(1 << 16)})
		}
		out = append(out, edit{op: "pass", n: pass})
	}
	return out
}

func newInputs() modelInputs { return modelInputs{sources: []sourceFiles{{}, {}}} }

// beginning is what histories begin with.
func beginning() []edit {
	var out []edit
	add := func(source int, file string, docs ...doc) {
		for _, d := range docs {
			out = append(out, edit{op: "add", source: source, file: file, doc: d})
		}
	}
	for _, ns := range []string{"a", "b"} {
		add(0, "in/"+ns+"/agent.yaml", doc{kind: "GrafanaAgent", ns: ns, name: "agent"},
			doc{kind: "MetricsInstance", ns: ns, name: "main", tier: 1, ref: "s"})
		add(0, "in/"+ns+"/monitors.yaml", doc{kind: "ServiceMonitor", ns: ns, name: "web", ref: "s"},
			doc{kind: "ServiceMonitor", ns: ns, name: "db", tier: 1})
		add(0, "in/"+ns+"/space.yaml", doc{kind: "Namespace", name: ns, team: true})
	}
	add(0, "in/a/agent.yaml", doc{kind: "MetricsInstance", ns: "a", name: "second", tier: 2, sel: 1, wide: true,
		jobs: "jobs"})
	add(0, "in/a/cache.yaml", doc{kind: "Integration", ns: "a", name: "cache", inst: "a/main"})
	add(0, "more/secrets.yaml", doc{kind: "Secret", ns: "a", name: "s"}, doc{kind: "Secret", ns: "b", name: "s"})
	add(0, "more/jobs.yaml", doc{kind: "Secret", ns: "a", name: "jobs"})
	add(1, "in/c.yaml", doc{kind: "Integration", ns: "c", name: "shared", addr: 1},
		doc{kind: "ServiceMonitor", ns: "a", name: "far", ca: "ca"})
	add(1, "in/ca.yaml", doc{kind: "ConfigMap", ns: "a", name: "ca"})
	add(0, "in/a/accounts.yaml", doc{kind: "ServiceAccount", ns: "a", name: "agent"},
		doc{kind: "ServiceAccount", ns: "a", name: "web"})
	add(1, "in/c.yaml", doc{kind: "ServiceAccount", ns: "c", name: "agent"})
	return out
}

// fresh are objects that edits add.
var fresh = []doc{
	{kind: "GrafanaAgent", ns: "a", name: "other", sel: 1},
	{kind: "GrafanaAgent", ns: "a", name: "agent-shard-1"}, // collides with a second shard
	{kind: "MetricsInstance", ns: "b", name: "second", tier: 1},
	{kind: "MetricsInstance", ns: "a", name: "third"},
	{kind: "ServiceMonitor", ns: "a", name: "new", ref: "s"},
	{kind: "ServiceMonitor", ns: "b", name: "new", tier: 1, slow: true},
	{kind: "Integration", ns: "c", name: "twin", addr: 1},
	{kind: "Integration", ns: "a", name: "twin", addr: 2, unique: true},
	{kind: "Integration", ns: "b", name: "cache", inst: "b/main"},
	{kind: "Secret", ns: "b", name: "jobs"},
	{kind: "Secret", ns: "a", name: "agent-config"}, // collides with what is rendered
	{kind: "ConfigMap", ns: "b", name: "ca"},
	{kind: "Namespace", name: "c", team: true},
	{kind: "ServiceAccount", ns: "a", name: "new"},
	{kind: "ServiceAccount", ns: "b", name: "agent"},
}

// pick takes a file of the inputs and a document of it.
func (a *author) pick() (source int, file string, d doc, ok bool) {
	source = min(a.rand.IntN(4), 1) ^ 1
	if len(a.in.sources[source]) == 0 {
		source ^= 1
	}
	names := slices.Sorted(maps.Keys(a.in.sources[source]))
	if len(names) == 0 {
		return 0, "", doc{}, false
	}
	file = names[a.rand.IntN(len(names))]
	docs := a.in.sources[source][file]
	return source, file, docs[a.rand.IntN(len(docs))], true
}

// number is a new one: what is written with it was never written before.
func (a *author) number() int {
	a.last++
	return a.last
}

// edit makes one up.
func (a *author) edit(pass int) edit {
	source, file, d, ok := a.pick()
	if n := a.rand.IntN(100); ok && n < 78 {
		return a.editFile(n, source, file, d)
	}
	switch n := a.rand.IntN(16); n {
	case 0, 1, 2, 3, 4, 5:
		d := fresh[a.rand.IntN(len(fresh))]
		d.rev = a.number()
		return edit{op: "add", source: a.rand.IntN(2), file: []string{"in/new.yaml", "in/c.yaml"}[a.rand.IntN(2)],
			doc: d}
	case 6, 7:
		return edit{op: "force", source: a.rand.IntN(2), n: a.rand.IntN(pass + 1),
			field: []string{"", "", "forget"}[a.rand.IntN(3)]}
	case 8, 9:
		return edit{op: "away", n: a.rand.IntN(2)}
	case 10:
		return edit{op: "policy", n: a.rand.IntN(2)}
	case 11:
		return edit{op: "label", n: a.number()}
	case 12:
		return edit{op: "chosen", n: min(a.rand.IntN(3), 1) ^ 1}
	case 13:
		return edit{op: "orphan"}
	}
	return edit{op: "hand", n: a.rand.IntN(1 << 16)}
}

// editFile makes an edit of a document or of its file.
func (a *author) editFile(n, source int, file string, d doc) edit {
	e := edit{source: source, file: file, doc: d}
	set := func(field string, n int) edit {
		e.op, e.field, e.n = "set", field, n
		e.doc = d.set(field, n)
		return e
	}
	known := fields[d.kind]
	switch {
	case n < 12:
		return set(known[0], a.number())
	case n < 28:
		return set("fault", 1+a.rand.IntN(4))
	case n < 46:
		return set(known[1+a.rand.IntN(len(known)-1)], a.rand.IntN(6))
	case n < 56:
		return set("fault", 0)
	case n < 60:
		e.op = "repair"
	case n < 66:
		e.op = "drop"
	case n < 70:
		e.op, e.n, e.to = "move", a.rand.IntN(2), fmt.Sprintf("in/moved-%d.yaml", a.rand.IntN(3))
	case n < 72:
		e.op, e.n, e.to = "copy", a.rand.IntN(2), fmt.Sprintf("in/again-%d.yaml", a.rand.IntN(3))
	case n < 75:
		e.op, e.to = "rename", path.Join(path.Dir(file), fmt.Sprintf("renamed-%d.yaml", a.rand.IntN(3)))
	default:
		e.op = "remove"
	}
	return e
}

// steps are the edits as a person reads them.
func steps(edits []edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}
