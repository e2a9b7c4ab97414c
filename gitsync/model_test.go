package gitsync_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
)

var (
	modelTime = flag.Duration("model.time", 6*time.Second, "how long TestModel makes new histories")
	modelSeed = flag.Uint64("model.seed", 0, "make only the history of this seed")
)

// TestModel makes random histories of good and bad edits of the input and of the output
// branch, and compares the branch after each pass with an oracle that knows which
// mistakes it made. A failure names the seed of its history, which repeats it:
//
//	go test ./gitsync -run TestModel -model.seed SEED
//
// For more histories than a normal run has time for:
//
//	go test ./gitsync -run TestModel -model.time 10m -timeout 0
func TestModel(t *testing.T) {
	t.Parallel()
	if *modelSeed != 0 {
		runHistory(t, *modelSeed)
		return
	}
	seed := uint64(time.Now().UnixNano())
	const lanes = 2
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			n := uint64(0)
			for start := time.Now(); n == 0 || time.Since(start) < *modelTime; n++ {
				// A test of its own, which lets go of its files when it ends.
				t.Run(fmt.Sprint("seed ", seed+lane+n*lanes), func(t *testing.T) { runHistory(t, seed+lane+n*lanes) })
			}
			t.Logf("%d histories from seed %d", n, seed+lane)
		})
	}
}

// modelSteps is how many passes a history has.
const modelSteps = 6

func runHistory(t *testing.T, seed uint64) {
	m := newModel(t, seed)
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(m.log, "\n"))
		}
	}()
	for step := range modelSteps {
		m.logf("step %d", step)
		for range 1 + m.rand.IntN(3) {
			m.edit()
		}
		m.check()
		if t.Failed() {
			t.FailNow()
		}
	}
}

// model is a history and what is known about it.
type model struct {
	t      testing.TB
	rand   *rand.Rand
	lab    *lab
	long   *gitsync.Syncer // makes all passes
	policy secretref.Policy
	log    []string

	files   map[string][]doc
	past    []map[string][]doc // for a forced push
	foreign tree               // files of others on the output branch
	inputs  map[string][]manifest.ID
}

func newModel(t testing.TB, seed uint64) *model {
	m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 1)), lab: newLab(t), files: map[string][]doc{}, foreign: tree{}, inputs: map[string][]manifest.ID{}}
	m.policy = []secretref.Policy{secretref.Reference, secretref.Plaintext}[m.rand.IntN(2)]
	m.lab.pipeline.Spec.Secrets.Policy = gitsync.SecretsPolicy(m.policy)
	m.lab.pipeline.Spec.Limits.Deletions = "100%"
	m.long = m.lab.syncer()
	for _, ns := range []string{"a", "b", "c"} {
		m.files["in/"+ns+"/agent.yaml"] = []doc{{kind: "GrafanaAgent", namespace: ns, name: "agent"}, {kind: "MetricsInstance", namespace: ns, name: "main"}}
		m.files["in/"+ns+"/web.yaml"] = []doc{{kind: "ServiceMonitor", namespace: ns, name: "web"}, {kind: "ServiceMonitor", namespace: ns, name: "db"}}
		m.files["in/"+ns+"/rest.yaml"] = []doc{{kind: "Secret", namespace: ns, name: "s"}, {kind: "Namespace", name: ns, label: true}}
	}
	if m.rand.IntN(3) == 0 {
		m.damage() // the first run sees an error too
	}
	return m
}

func (m *model) logf(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// pick takes a file and, if there is one, a document of it.
func (m *model) pick() (string, int) {
	names := slices.Sorted(maps.Keys(m.files))
	if len(names) == 0 {
		return "", -1
	}
	name := names[m.rand.IntN(len(names))]
	return name, m.rand.IntN(len(m.files[name]))
}

// change replaces a document. Files are never changed in place: the past shares them.
func (m *model) change(name string, i int, f func(*doc)) {
	docs := slices.Clone(m.files[name])
	f(&docs[i])
	m.files[name] = docs
	m.logf("%s[%d] is %+v", name, i, docs[i])
}

func (m *model) drop(name string, i int) doc {
	gone := m.files[name][i]
	docs := slices.Delete(slices.Clone(m.files[name]), i, i+1)
	m.files[name] = docs
	if len(docs) == 0 {
		delete(m.files, name)
	}
	m.logf("%s[%d] is gone", name, i)
	return gone
}

func (m *model) damage() {
	if name, i := m.pick(); i >= 0 {
		kind := fault(1 + m.rand.IntN(4))
		m.change(name, i, func(d *doc) { d.fault = kind })
	}
}

// edit makes one random change.
func (m *model) edit() {
	name, i := m.pick()
	choice := m.rand.IntN(24)
	if i < 0 && choice < 18 {
		choice = 20
	}
	switch choice {
	case 0, 1, 2, 3:
		m.change(name, i, func(d *doc) { d.variant++ })
	case 4, 5, 6:
		m.damage()
	case 7, 8, 9, 10:
		m.repair()
	case 11:
		m.change(name, i, func(d *doc) { d.paused = !d.paused })
	case 12:
		m.change(name, i, func(d *doc) { d.label = !d.label })
	case 13:
		m.drop(name, i)
	case 14: // renamed, perhaps broken on the way
		moved := m.drop(name, i)
		if m.rand.IntN(2) == 0 {
			moved.fault = broken
		}
		to := fmt.Sprintf("in/moved-%d.yaml", m.rand.IntN(5))
		m.files[to] = append(slices.Clone(m.files[to]), moved)
		m.logf("moved to %s: %+v", to, moved)
	case 15: // twice
		again := m.files[name][i]
		to := fmt.Sprintf("in/again-%d.yaml", m.rand.IntN(3))
		m.files[to] = append(slices.Clone(m.files[to]), again)
		m.logf("again in %s: %+v", to, again)
	case 16: // another name
		m.change(name, i, func(d *doc) { d.name += "x" })
	case 17:
		m.logf("%s is gone", name)
		delete(m.files, name)
	case 18: // back to an older state, by force
		if len(m.past) > 0 {
			m.files = maps.Clone(m.past[m.rand.IntN(len(m.past))])
			delete(m.lab.remote.refs, "refs/heads/main")
			m.logf("forced push of an older state")
		}
	case 19:
		delete(m.lab.remote.refs, "refs/heads/env")
		m.foreign, m.inputs = tree{}, map[string][]manifest.ID{}
		m.logf("output branch deleted")
	case 20:
		ns := []string{"a", "b", "c"}[m.rand.IntN(3)]
		d := doc{kind: []string{"GrafanaAgent", "MetricsInstance", "ServiceMonitor", "ServiceMonitor"}[m.rand.IntN(4)], namespace: ns, name: fmt.Sprintf("new-%d", m.rand.IntN(3))}
		to := "in/" + ns + "/new.yaml"
		m.files[to] = append(slices.Clone(m.files[to]), d)
		m.logf("new in %s: %+v", to, d)
	default:
		m.tamper()
	}
}

// repair takes the faults of a file away, or all of them.
func (m *model) repair() {
	only, _ := m.pick()
	if m.rand.IntN(3) == 0 {
		only = ""
	}
	for name, docs := range m.files {
		if only != "" && name != only {
			continue
		}
		docs = slices.Clone(docs)
		for i := range docs {
			docs[i].fault = good
		}
		m.files[name] = docs
	}
	m.logf("repaired %q", only)
}

// tamper changes the output branch by hand.
func (m *model) tamper() {
	files := m.lab.remote.read("env")
	if len(files) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(files))
	name := names[m.rand.IntN(len(names))]
	switch m.rand.IntN(4) {
	case 0:
		name = path.Join(path.Dir(name), fmt.Sprintf("theirs-%d.txt", m.rand.IntN(3)))
		m.foreign[name] = entry{text: fmt.Sprint("theirs ", m.rand.IntN(100))}
		files[name] = m.foreign[name]
	case 1, 2:
		if _, theirs := m.foreign[name]; theirs {
			return
		}
		files[name] = entry{text: "changed by hand\n"}
	case 3:
		delete(m.foreign, name)
		delete(files, name)
	}
	if len(files) == 0 {
		return
	}
	m.logf("by hand: %s", name)
	m.lab.minute++
	m.lab.remote.commit("env", files, m.lab.minute, "by hand")
}

// world is what the oracle makes of the input.
type world struct {
	set     *manifest.Set
	broken  bool
	invalid map[manifest.ID]bool
	units   map[string]*generator.Unit
}

func (m *model) look() (tree, world) {
	in := tree{"in/.keep": {text: "x"}}
	w := world{invalid: map[manifest.ID]bool{}, units: map[string]*generator.Unit{}}
	seen := map[manifest.ID]int{}
	var results []manifest.Result
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		var texts []string
		for _, d := range m.files[name] {
			texts = append(texts, d.text())
			fault := d.fault
			if fault == nameless && d.kind == "Namespace" || fault == invalid && d.kind == "Namespace" || fault == unrendered && d.kind != "ServiceMonitor" {
				fault = good
			}
			switch fault {
			case broken, nameless:
				w.broken = true
			case invalid:
				w.invalid[d.id()] = true
			default:
				seen[d.id()]++
			}
		}
		text := strings.Join(texts, "---\n")
		in[name] = entry{text: text}
		results = append(results, manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, manifest.Options{}))
	}
	for id, n := range seen {
		if n > 1 {
			w.invalid[id] = true
		}
	}
	w.set = manifest.NewSet(results...)
	for _, u := range generator.Render(w.set, generator.Options{Secrets: m.policy}, nil).Units {
		w.units[u.Name] = u
	}
	return in, w
}

// held tells whether a unit that is on the branch must stay as it is.
func (m *model) held(name string, w world) bool {
	u := w.units[name]
	if u == nil {
		ns, agent, _ := strings.Cut(name, "/")
		id := manifest.ID{Kind: "GrafanaAgent", Namespace: ns, Name: agent}
		return w.invalid[id] || w.broken
	}
	if u.Paused || u.Failed {
		return true
	}
	var was []manifest.ID
	lost := false // a Namespace, which counts if that changes what is selected
	for _, id := range m.inputs[name] {
		gone := w.set.Get(id) == nil && (w.invalid[id] || w.broken)
		if id.Kind == "Namespace" {
			lost = lost || gone
			continue
		}
		if gone {
			return true
		}
		was = append(was, id)
	}
	return lost && !slices.Equal(was, u.Inputs)
}

// check makes passes and compares the branch with what the oracle expects.
func (m *model) check() {
	in, w := m.look()
	m.past = append(m.past, maps.Clone(m.files))
	m.lab.minute++
	m.lab.remote.commit("main", in, m.lab.minute, "Change")
	before, tip := m.lab.remote.read("env"), m.lab.remote.tip("env")
	fork := m.lab.remote.fork()
	report := m.lab.passOf(m.long)
	after := m.lab.remote.read("env")

	for name := range m.names(w) {
		_, existed := m.inputs[name]
		if existed && m.held(name, w) {
			m.same("held unit "+name, below(before, name), below(after, name))
			continue
		}
		u := w.units[name]
		want := tree{}
		if u != nil {
			for _, f := range u.Files {
				want[f.Path] = entry{text: string(f.Data)}
			}
		}
		m.same("unit "+name, want, unitFiles(after, name, m.foreign))
		delete(m.inputs, name)
		if len(want) > 0 {
			m.inputs[name] = w.inputs(u)
		}
	}
	for name, e := range m.foreign {
		if after[name] != e {
			m.t.Errorf("%s of others is %+v, was %+v", name, after[name], e)
		}
	}
	m.linear(report, tip)
	m.again(fork, report)
}

// inputs are the objects of a unit and their Namespaces.
func (w world) inputs(u *generator.Unit) []manifest.ID {
	out := slices.Clone(u.Inputs)
	for _, id := range u.Inputs {
		ns := manifest.ID{Kind: "Namespace", Name: id.Namespace}
		if w.set.Get(ns) != nil && !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	return out
}

func (m *model) names(w world) map[string]bool {
	out := map[string]bool{}
	for name := range m.inputs {
		out[name] = true
	}
	for name := range w.units {
		out[name] = true
	}
	return out
}

// below is a folder as it is.
func below(files tree, dir string) tree {
	out := tree{}
	for name, e := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = e
		}
	}
	return out
}

// unitFiles is the payload of a unit.
func unitFiles(files tree, dir string, foreign tree) tree {
	out := below(files, dir)
	for name := range out {
		if _, theirs := foreign[dir+"/"+name]; theirs || name == ".agentry/inventory" || name == "hydrator.metadata" {
			delete(out, name)
		}
	}
	return out
}

func (m *model) same(what string, want, got tree) {
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// linear checks that the branch moved by at most one commit, on top of what was there.
func (m *model) linear(report *gitsync.Report, before plumbing.Hash) {
	now := m.lab.remote.tip("env")
	if report.Commit == "" {
		if now != before {
			m.t.Errorf("the branch moved to %s and no commit is reported", now)
		}
		return
	}
	c := m.lab.remote.head("env")
	parents := slices.DeleteFunc([]plumbing.Hash{before}, plumbing.Hash.IsZero)
	if now.String() != report.Commit || !slices.Equal(parents, c.ParentHashes) {
		m.t.Errorf("%s has parents %v; want %s on %v", now, c.ParentHashes, report.Commit, parents)
	}
}

// again checks that nothing is left to do, and that a pass that remembers nothing would
// have made the same commit.
func (m *model) again(fork *remote, report *gitsync.Report) {
	if second := m.lab.passOf(m.long); second.Commit != "" {
		m.t.Errorf("a second pass made commit %s: %+v", second.Commit, second.Changes)
	}
	fresh := *m.lab
	fresh.options.CacheDir = m.t.TempDir()
	if m.rand.IntN(2) == 0 { // both would take the time of the passes that count
		if second := fresh.pass(); second.Commit != "" {
			m.t.Errorf("a second pass with an empty cache made commit %s: %+v", second.Commit, second.Changes)
		}
		return
	}
	m.lab.remote.host.serve(fork)
	fresh.options.CacheDir = m.t.TempDir()
	if first := fresh.pass(); first.Commit != report.Commit {
		m.t.Errorf("without memory the pass makes commit %q, not %q", first.Commit, report.Commit)
	}
	m.lab.remote.host.serve(m.lab.remote)
}
