package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// Names in the inputs.
const (
	agentSpace = "mon" // the namespace of GrafanaAgents
	mainAgent  = "agent"
	teamFolder = "teams"
	sharedDir  = "shared"
	fleetDir   = "fleet" // folders in it are added and removed

	fleetFolders = 4 // at most
)

// inputs are the documents of a repository by file. Never change the lists in place, because the history shares them.
type inputs map[string][]doc

// cluster returns the files of a folder.
func cluster(dir string) inputs {
	return inputs{
		dir + "/agent.yaml": {
			{kind: "GrafanaAgent", ns: agentSpace, name: mainAgent, tier: "main"},
			{kind: "MetricsInstance", ns: agentSpace, name: "main", tier: "main"},
		},
		dir + "/second.yaml": {
			{kind: "GrafanaAgent", ns: agentSpace, name: "second", tier: "second"},
			{kind: "MetricsInstance", ns: agentSpace, name: "second", tier: "second"},
		},
		dir + "/third.yaml": {{kind: "GrafanaAgent", ns: agentSpace, name: "third", tier: "second"}},
		dir + "/monitors.yaml": {
			{kind: "ServiceMonitor", ns: agentSpace, name: "web"},
			{kind: "ServiceMonitor", ns: agentSpace, name: "plain"},
			{kind: "ServiceMonitor", ns: "app", name: "api"},
		},
		dir + "/secrets.yaml": {{kind: "Secret", ns: agentSpace, name: "login"},
			{kind: "ConfigMap", ns: agentSpace, name: "ca"}},
		dir + "/cache.yaml": {{kind: "Integration", ns: "app", name: "cache"}},
	}
}

// firstInputs returns the initial inputs of a repository.
func firstInputs(clusters int) inputs {
	in := inputs{
		sharedDir + "/monitors.yaml": {{kind: "ServiceMonitor", ns: "nodes", name: "exporter"},
			{kind: "ServiceMonitor", ns: "nodes", name: "dns"}},
		teamFolder + "/monitors.yaml": {{kind: "ServiceMonitor", ns: "team", name: "shop"},
			{kind: "Integration", ns: "team", name: "queue"}},
	}
	for n := range clusters {
		maps.Copy(in, cluster(clusterDir(n)))
	}
	for n := range 2 {
		maps.Copy(in, cluster(fleetFolder(n)))
	}
	return in
}

func clusterDir(n int) string  { return fmt.Sprintf("clusters/c%d", n) }
func fleetFolder(n int) string { return fmt.Sprintf("%s/f%d", fleetDir, n) }

// texts returns the contents of the files.
func (in inputs) texts() map[string]string {
	out := map[string]string{"README.md": "Inputs.\n"}
	for name, docs := range in {
		var parts []string
		for _, d := range docs {
			parts = append(parts, d.text())
		}
		out[name] = strings.Join(parts, "---\n")
	}
	return out
}

// editsTo returns the edits from these texts to others.
func editsTo(from, to map[string]string) map[string]edit {
	out := map[string]edit{}
	for name, text := range to {
		if old, ok := from[name]; !ok || old != text {
			out[name] = write(text)
		}
	}
	for name := range from {
		if _, ok := to[name]; !ok {
			out[name] = nil
		}
	}
	return out
}

// author commits to the inputs of one repository.
type author struct {
	remote  *remote
	rand    *rand.Rand
	first   inputs
	now     inputs
	fleet   bool // whether folders are added and removed
	past    []version
	rewinds int
	rev     int
	when    time.Time
}

// version is a commit with its inputs.
type version struct {
	commit string
	inputs inputs
}

const inputsBranch = "main"

func newAuthor(r *remote, random *rand.Rand, clusters int, fleet bool) *author {
	first := firstInputs(clusters)
	return &author{remote: r, rand: random, first: first, now: maps.Clone(first), fleet: fleet,
		when: time.Unix(1_700_000_000, 0)}
}

// head returns the current commit of the inputs.
func (a *author) head() string {
	if len(a.past) == 0 {
		return ""
	}
	return a.past[len(a.past)-1].commit
}

// commit commits the inputs.
func (a *author) commit(message string) error {
	was := map[string]string{}
	if len(a.past) > 0 {
		was = a.past[len(a.past)-1].inputs.texts()
	}
	edits := editsTo(was, a.now.texts())
	a.when = a.when.Add(time.Minute)
	commit, err := a.remote.commit(inputsBranch, a.head(), edits, message, a.when)
	if err == nil {
		a.past = append(a.past, version{commit, maps.Clone(a.now)})
	}
	return err
}

// step makes a random commit, or resets to an earlier one.
func (a *author) step() (what string, err error) {
	if len(a.past) > 3 && a.rand.IntN(40) == 0 {
		return a.rewind()
	}
	var did []string
	for range 1 + a.rand.IntN(4) {
		did = append(did, a.edit())
	}
	what = strings.Join(did, ", ")
	message := what
	if a.rand.IntN(3) == 0 {
		message += "\n\n" + allowTrailer
	}
	return what, a.commit(message)
}

const allowTrailer = "Agentry-Allow-Deletions: true"

// rewind resets to an earlier commit with a forced push.
func (a *author) rewind() (string, error) {
	n := 1 + a.rand.IntN(3)
	old := a.past[len(a.past)-1-n]
	if err := a.remote.move("refs/heads/"+inputsBranch, a.head(), old.commit); err != nil {
		return "", err
	}
	a.past, a.now = a.past[:len(a.past)-n], maps.Clone(old.inputs)
	a.rewinds++
	return fmt.Sprintf("back by %d commits to %s", n, old.commit), nil
}

// repair restores the initial objects, each once and without a fault.
func (a *author) repair() error {
	seen := map[string]bool{}
	out := inputs{}
	add := func(name string, docs []doc) {
		for _, d := range docs {
			key := path.Dir(name) + " " + d.String()
			if d.fault, d.paused = good, false; !seen[key] {
				seen[key] = true
				out[name] = append(slices.Clone(out[name]), d)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.now)) {
		add(name, a.now[name])
	}
	for _, name := range slices.Sorted(maps.Keys(a.first)) {
		if !strings.HasPrefix(name, fleetDir) {
			add(name, a.first[name])
		}
	}
	a.now = out
	return a.commit("Put everything right\n\n" + allowTrailer)
}

// pick returns a random document.
func (a *author) pick() (name string, i int) {
	names := slices.Sorted(maps.Keys(a.now))
	name = names[a.rand.IntN(len(names))]
	return name, a.rand.IntN(len(a.now[name]))
}

// put replaces the documents of a file; none removes it.
func (a *author) put(name string, docs []doc) {
	if a.now[name] = docs; len(docs) == 0 {
		delete(a.now, name)
	}
}

// edit makes a random edit.
func (a *author) edit() string {
	if len(a.now) < 3 {
		a.now = maps.Clone(a.first)
		return "everything as at first"
	}
	name, i := a.pick()
	docs := slices.Clone(a.now[name])
	d := &docs[i]
	a.rev++
	switch n := a.rand.IntN(100); {
	case n < 30:
		d.rev = a.rev
	case n < 50:
		if f := fault(1 + a.rand.IntN(int(faults)-1)); d.can(f) {
			d.fault = f
		}
	case n < 68:
		for i := range docs {
			docs[i].fault = good
		}
	case n < 73:
		a.put(name, slices.Delete(docs, i, i+1))
		return "without " + d.String()
	case n < 76:
		delete(a.now, name)
		return "without " + name
	case n < 79:
		other := path.Join(path.Dir(name), fmt.Sprintf("again-%d.yaml", a.rand.IntN(2)))
		a.now[other] = append(slices.Clone(a.now[other]), *d)
		return d.String() + " again in " + other
	case n < 82:
		other := path.Join(path.Dir(name), fmt.Sprintf("moved-%d.yaml", a.rand.IntN(2)))
		delete(a.now, name)
		a.now[other] = append(slices.Clone(a.now[other]), docs...)
		return name + " moved to " + other
	default:
		return a.other(n, name, docs, i)
	}
	a.put(name, docs)
	return fmt.Sprintf("%s of %s: revision %d, fault %d", d, name, d.rev, d.fault)
}

// other makes an edit of a rarer kind.
func (a *author) other(n int, name string, docs []doc, i int) string {
	d := &docs[i]
	switch {
	case n < 89:
		return a.agent(n < 85)
	case n < 91 && d.kind == "ServiceMonitor":
		d.tier = []string{"", "none"}[a.rand.IntN(2)]
	case n < 92:
		d.slow = !d.slow
	case n < 95:
		first := slices.Sorted(maps.Keys(a.first))
		name := first[a.rand.IntN(len(first))]
		a.now[name] = a.first[name]
		return name + " as at first"
	case n < 97 && a.fleet:
		return a.comeAndGo()
	default:
		fresh := doc{kind: "ServiceMonitor", ns: "app",
			name: fmt.Sprintf("new-%s-%d", path.Base(path.Dir(name)), a.rand.IntN(4)), rev: a.rev}
		file := path.Join(path.Dir(name), fmt.Sprintf("new-%d.yaml", a.rand.IntN(2)))
		a.now[file] = append(slices.Clone(a.now[file]), fresh)
		return "new " + fresh.String() + " in " + file
	}
	a.put(name, docs)
	return fmt.Sprintf("%s of %s: tier %q, slow %v", d, name, d.tier, d.slow)
}

// agent pauses or resumes a GrafanaAgent, or changes its shards.
func (a *author) agent(pause bool) string {
	var names []string
	for name, docs := range a.now {
		if docs[0].kind == "GrafanaAgent" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	slices.Sort(names)
	name := names[a.rand.IntN(len(names))]
	docs := slices.Clone(a.now[name])
	d := &docs[0]
	if pause {
		d.paused = !d.paused
	} else {
		d.shards = a.rand.IntN(4)
	}
	a.put(name, docs)
	return fmt.Sprintf("%s of %s: paused %v, shards %d", d, name, d.paused, d.shards)
}

// comeAndGo adds or removes a folder of the fleet.
func (a *author) comeAndGo() string {
	dir := fleetFolder(a.rand.IntN(fleetFolders))
	gone := false
	for name := range maps.Clone(a.now) {
		if strings.HasPrefix(name, dir+"/") {
			delete(a.now, name)
			gone = true
		}
	}
	if gone {
		return "without " + dir
	}
	maps.Copy(a.now, cluster(dir))
	return "with " + dir
}

// folders returns the existing folders of the fleet.
func (in inputs) folders() []string {
	var out []string
	for name := range in {
		if dir := path.Dir(name); strings.HasPrefix(dir, fleetDir+"/") && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}
