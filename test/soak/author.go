package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/test/history"
)

// Folders of the inputs. A cluster has what histories have at the path in of the first source, and shared what they
// have at more; teams has the second source.
const (
	teamFolder = "teams"
	sharedDir  = "shared"
	fleetDir   = "fleet" // folders in it are added and removed

	fleetFolders = 4 // at most
)

// cluster returns the files of a folder.
func cluster(dir string) history.Files { return moved(history.Beginning()[0], "in", dir) }

// moved returns the files of a folder as those of another one.
func moved(files history.Files, from, to string) history.Files {
	out := history.Files{}
	for name, docs := range files {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			out[to+"/"+rest] = docs
		}
	}
	return out
}

// firstInputs returns the initial inputs of a repository.
func firstInputs(clusters int) history.Files {
	first := history.Beginning()
	out := moved(first[0], "more", sharedDir)
	maps.Copy(out, moved(first[1], "in", teamFolder))
	for n := range clusters {
		maps.Copy(out, cluster(clusterDir(n)))
	}
	for n := range 2 {
		maps.Copy(out, cluster(fleetFolder(n)))
	}
	return out
}

func clusterDir(n int) string  { return fmt.Sprintf("clusters/c%d", n) }
func fleetFolder(n int) string { return fmt.Sprintf("%s/f%d", fleetDir, n) }

// folderOf returns the folder that a file is in: a cluster, one of the fleet, shared or teams.
func folderOf(name string) string {
	parts := strings.Split(name, "/")
	if parts[0] == sharedDir || parts[0] == teamFolder {
		return parts[0]
	}
	return path.Join(parts[0], parts[1])
}

// folders returns the folders of the inputs below another one, or all.
func folders(in history.Files, below string) []string {
	var out []string
	for name := range in {
		if dir := folderOf(name); strings.HasPrefix(dir, below) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// texts returns the contents of the files.
func texts(in history.Files) map[string]string {
	out := in.Texts()
	out["README.md"] = "Inputs.\n"
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
	history history.Author
	first   history.Files
	fleet   bool // whether folders are added and removed
	past    []version
	commits map[string]history.Files // all that were ever made
	rewinds int
	when    time.Time
}

// version is a commit with its inputs.
type version struct {
	commit string
	inputs history.Files
}

const inputsBranch = "main"

func newAuthor(r *remote, random *rand.Rand, clusters int, fleet bool) *author {
	a := &author{remote: r, rand: random, first: firstInputs(clusters), fleet: fleet,
		commits: map[string]history.Files{}, when: time.Unix(1_700_000_000, 0)}
	a.history = history.Author{Rand: random, Sources: []history.Files{maps.Clone(a.first)}, Folder: a.folder}
	return a
}

// now returns the inputs.
func (a *author) now() history.Files { return a.history.Sources[0] }

// folder picks a folder for a new file.
func (a *author) folder(int) string {
	all := folders(a.now(), "")
	if len(all) == 0 {
		return sharedDir
	}
	return all[a.rand.IntN(len(all))]
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
		was = texts(a.past[len(a.past)-1].inputs)
	}
	edits := editsTo(was, texts(a.now()))
	a.when = a.when.Add(time.Minute)
	commit, err := a.remote.commit(inputsBranch, a.head(), edits, message, a.when)
	if err == nil {
		a.commits[commit] = maps.Clone(a.now())
		a.past = append(a.past, version{commit, a.commits[commit]})
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
	a.past, a.history.Sources[0] = a.past[:len(a.past)-n], maps.Clone(old.inputs)
	a.rewinds++
	return fmt.Sprintf("back by %d commits to %s", n, old.commit), nil
}

// repair restores the initial objects, each once, in its last version and wherever it is in its folder.
func (a *author) repair() error {
	key := func(name string, d history.Doc) string { return folderOf(name) + " " + d.ID().String() }
	first := maps.Clone(a.first)
	maps.DeleteFunc(first, func(name string, _ []history.Doc) bool { return strings.HasPrefix(name, fleetDir) })
	for _, dir := range folders(a.now(), fleetDir) {
		maps.Copy(first, cluster(dir))
	}
	right := map[string]history.Doc{} // those that are still missing
	for name, docs := range first {
		for _, d := range docs {
			right[key(name, d)] = d
		}
	}
	out := history.Files{}
	for _, files := range []history.Files{a.now(), first} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, d := range files[name] {
				if want, missing := right[key(name, d)]; missing {
					want.Rev, want.Shards = d.Rev, d.Shards
					out.Add(name, want)
					delete(right, key(name, d))
				}
			}
		}
	}
	a.history.Sources[0] = out
	return a.commit("Put everything right\n\n" + allowTrailer)
}

// edit makes a random edit.
func (a *author) edit() string {
	switch n := a.rand.IntN(100); {
	case n < 3 || len(a.now()) < 3:
		dir := a.folder(0)
		for name, docs := range a.first {
			if folderOf(name) == dir {
				a.now()[name] = docs
			}
		}
		return dir + " as at first"
	case n < 5 && a.fleet:
		return a.comeAndGo()
	case n < 12:
		return a.apply(a.history.Add())
	}
	e := a.history.Edit()
	if e.Field == "storage" {
		return "nothing" // volumes stay as they are on the branch, so repair would not be possible
	}
	return a.apply(e)
}

func (a *author) apply(e history.Edit) string {
	history.Apply(a.history.Sources, e)
	return e.String()
}

// comeAndGo adds or removes a folder of the fleet.
func (a *author) comeAndGo() string {
	dir := fleetFolder(a.rand.IntN(fleetFolders))
	gone := false
	for name := range maps.Clone(a.now()) {
		if strings.HasPrefix(name, dir+"/") {
			delete(a.now(), name)
			gone = true
		}
	}
	if gone {
		return "without " + dir
	}
	maps.Copy(a.now(), cluster(dir))
	return "with " + dir
}
