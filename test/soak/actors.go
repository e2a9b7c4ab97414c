package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	notesRef  = "refs/notes/hydrator.metadata"
	inputsRef = "refs/heads/agentry/inputs"
)

// actors are the people and programs besides agentry that change outputs: they edit and rewrite output branches, merge
// proposals and write notes.
type actors struct {
	*testbed
	rand  *rand.Rand
	done  map[string][]action // by remote and branch: the commits that must not be lost, in order
	notes []foreignNote
	// tampered has agentry's files that an actor changed at any time, by remote and branch.
	tampered map[string]map[string]bool
	n        int
}

// action is a commit of an actor on an output branch.
type action struct {
	commit   string
	theirs   map[string]edit // foreign files
	tampered []string        // agentry's files
}

// foreignNote is a note of another program.
type foreignNote struct {
	remote       *remote
	commit, text string
}

func (a *actors) act(ctx context.Context) {
	every(ctx, a.rand, actEvery, func() {
		what, err := a.step()
		switch {
		case errors.Is(err, errNothing):
		case err != nil:
			a.events.say("somebody was too slow: %v", err)
		default:
			a.events.say("%s", what)
		}
	})
}

// errNothing means that the action is not possible at the moment.
var errNothing = errors.New("nothing to do")

func (a *actors) step() (string, error) {
	r := a.repos[a.rand.IntN(len(a.repos))]
	n := a.rand.IntN(100)
	switch {
	case n < 35:
		return a.mergeOne(r)
	case n < 40:
		return a.note(r)
	case n < 41:
		return a.loseInputs(r)
	case n < 44:
		return a.editProposal(r)
	}
	ref, err := a.someOutput(r)
	if err != nil {
		return "", err
	}
	switch {
	case n < 47:
		return a.remove(r, ref)
	case n < 51:
		return a.rewind(r, ref)
	}
	return a.edit(r, ref)
}

// someOutput picks an existing output branch.
func (a *actors) someOutput(r *remote) (string, error) {
	refs, err := r.refs()
	if err != nil {
		return "", err
	}
	var outputs []string
	for ref := range refs {
		if isOutput(ref) {
			outputs = append(outputs, ref)
		}
	}
	if len(outputs) == 0 {
		return "", errNothing
	}
	slices.Sort(outputs)
	return outputs[a.rand.IntN(len(outputs))], nil
}

// isOutput reports whether a ref is an output branch, not one with proposals.
func isOutput(ref string) bool {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	return ok && (strings.HasPrefix(name, "env/") || name == "together") && !strings.HasSuffix(name, "-next") &&
		!strings.Contains(name, "-next/")
}

func key(r *remote, ref string) string { return filepath.Base(r.dir) + " " + ref }

// edit commits something to an output branch.
func (a *actors) edit(r *remote, ref string) (string, error) {
	tip := r.tip(ref)
	out, err := r.git("ls-tree", "-r", "--name-only", tip)
	if err != nil {
		return "", err
	}
	var theirs, ours []string
	for _, name := range strings.Fields(out) {
		switch {
		case isTheirs(name):
			theirs = append(theirs, name)
		case strings.HasSuffix(name, ".yaml"):
			ours = append(ours, name)
		}
	}
	d, what := a.choose(theirs, ours)
	if what == "" {
		return "", errNothing
	}
	edits := map[string]edit{}
	for name, e := range d.theirs {
		edits[name] = e
	}
	for _, name := range d.tampered {
		edits[name] = nil
		if text, ok := r.show(tip, name); ok && a.rand.IntN(2) == 0 {
			edits[name] = write(text + "# by hand\n")
		}
	}
	d.commit, err = r.commit(strings.TrimPrefix(ref, "refs/heads/"), tip, edits, what, time.Unix(1_700_000_000, 0))
	if err != nil {
		return "", err
	}
	a.counts.edits.Add(1)
	a.done[key(r, ref)] = append(a.done[key(r, ref)], d)
	if a.tampered[key(r, ref)] == nil {
		a.tampered[key(r, ref)] = map[string]bool{}
	}
	for _, name := range d.tampered {
		a.tampered[key(r, ref)][name] = true
	}
	return fmt.Sprintf("somebody commits to %s: %s, %s", key(r, ref), d.commit, what), nil
}

// theirMark is in the names of foreign files.
const theirMark = "theirs"

func isTheirs(name string) bool { return strings.Contains(path.Base(name), theirMark) }

// choose chooses random edits.
func (a *actors) choose(theirs, ours []string) (action, string) {
	a.n++
	one := func(of []string) string { return of[a.rand.IntN(len(of))] }
	switch n := a.rand.IntN(10); {
	case len(ours) == 0:
		return action{}, ""
	case n < 4 || len(theirs) == 0 && n < 6:
		name := path.Join(path.Dir(one(ours)),
			fmt.Sprintf("%s-%d%s", theirMark, a.rand.IntN(5), []string{".yaml", ".txt"}[a.rand.IntN(2)]))
		return action{theirs: map[string]edit{name: write(fmt.Sprintf("# of others, %d\n", a.n))}}, "puts " + name
	case n < 6:
		name := one(theirs)
		return action{theirs: map[string]edit{name: nil}}, "removes " + name
	case n < 9:
		name := one(ours)
		return action{tampered: []string{name}}, "changes " + name
	}
	dir := path.Dir(one(ours))
	return action{tampered: []string{path.Join(dir, ".agentry/inventory")}}, "loses the inventory of " + dir
}

// remove deletes an output branch.
func (a *actors) remove(r *remote, ref string) (string, error) {
	if err := r.move(ref, r.tip(ref), ""); err != nil {
		return "", err
	}
	a.counts.rewrites.Add(1)
	delete(a.done, key(r, ref))
	return "somebody deletes " + key(r, ref), nil
}

// rewind resets an output branch to an earlier commit.
func (a *actors) rewind(r *remote, ref string) (string, error) {
	tip := r.tip(ref)
	old, err := r.git("rev-parse", "-q", "--verify", fmt.Sprintf("%s~%d", tip, 1+a.rand.IntN(3)))
	if err != nil {
		return "", errNothing
	}
	if err := r.move(ref, tip, old); err != nil {
		return "", err
	}
	a.counts.rewrites.Add(1)
	a.done[key(r, ref)] = slices.DeleteFunc(a.done[key(r, ref)], func(done action) bool {
		return !r.hasAncestor(old, done.commit)
	})
	return fmt.Sprintf("somebody takes %s back from %s to %s", key(r, ref), tip, old), nil
}

// note writes a note of another program on an input commit.
func (a *actors) note(r *remote) (string, error) {
	a.n++
	commit, text := r.tip("refs/heads/"+inputsBranch), fmt.Sprintf(`{"other":%d}`, a.n)
	if _, err := r.git("notes", "--ref", notesRef, "add", "-f", "-m", text, commit); err != nil {
		return "", err
	}
	a.notes = slices.DeleteFunc(a.notes, func(n foreignNote) bool { return n.remote == r && n.commit == commit })
	a.notes = append(a.notes, foreignNote{r, commit, text})
	return fmt.Sprintf("a note of others on %s", commit), nil
}

// loseInputs deletes the branch with the lock files.
func (a *actors) loseInputs(r *remote) (string, error) {
	tip := r.tip(inputsRef)
	if tip == "" {
		return "", errNothing
	}
	return "somebody deletes " + key(r, inputsRef), r.move(inputsRef, tip, "")
}

// proposing picks a pipeline with promotion.
func (a *actors) proposing(r *remote) *pipeline {
	var all []*pipeline
	for _, one := range a.config.pipelines {
		if one.next && a.repos[one.output] == r {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[a.rand.IntN(len(all))]
}

// editProposal moves a branch of proposals to another commit.
func (a *actors) editProposal(r *remote) (string, error) {
	one := a.proposing(r)
	if one == nil {
		return "", errNothing
	}
	ref := one.rendered()
	tip := r.tip(ref)
	if tip == "" {
		return "", errNothing
	}
	if a.rand.IntN(2) == 0 {
		return "somebody deletes " + key(r, ref), r.move(ref, tip, "")
	}
	commit, err := r.commit(strings.TrimPrefix(ref, "refs/heads/"), tip,
		map[string]edit{"theirs.txt": write("A correction.\n")}, "Correct this", time.Unix(1_700_000_000, 0))
	return fmt.Sprintf("somebody commits to %s: %s", key(r, ref), commit), err
}

// mergeOne merges a proposal.
func (a *actors) mergeOne(r *remote) (string, error) {
	one := a.proposing(r)
	if one == nil {
		return "", errNothing
	}
	return a.merge(one)
}

// merge merges the proposal of a pipeline like a forge: by fast-forward, squash or merge commit.
func (a *actors) merge(one *pipeline) (string, error) {
	r := a.repos[one.output]
	active, proposed := r.tip(one.ref()), r.tip(one.rendered())
	if active == "" || proposed == "" || active == proposed || !slices.Equal(r.parents(proposed), []string{active}) {
		return "", errNothing
	}
	if who, err := r.git("log", "-1", "--format=%ae", proposed); err != nil || who != "agentry@localhost" {
		return "", errNothing // an actor moved the proposal
	}
	commit, style := proposed, "by moving"
	args := []string{"commit-tree", proposed + "^{tree}", "-p", active, "-m", "Promote " + one.name}
	switch a.rand.IntN(3) {
	case 0:
		style = "squashed"
	case 1:
		args, style = append(args, "-p", proposed), "with a merge"
	default:
		args = nil
	}
	if args != nil {
		var err error
		if commit, err = r.git(args...); err != nil {
			return "", err
		}
	}
	if err := r.move(one.ref(), active, commit); err != nil {
		return "", err
	}
	a.counts.merges.Add(1)
	a.done[key(r, one.ref())] = append(a.done[key(r, one.ref())], action{commit: commit})
	return fmt.Sprintf("%s is promoted to %s %s", key(r, one.ref()), commit, style), nil
}

// mergeAll merges all proposals, and reports whether there were any.
func (a *actors) mergeAll() (bool, error) {
	merged := false
	for _, one := range a.config.pipelines {
		if !one.next {
			continue
		}
		what, err := a.merge(one)
		switch {
		case errors.Is(err, errNothing):
		case err != nil:
			return merged, err
		default:
			merged = true
			a.events.say("%s", what)
		}
	}
	return merged, nil
}

// theirs returns the foreign files that a branch must have at a tip, and the foreign commits that it should have but
// lacks.
func (a *actors) theirs(r *remote, ref, tip string) (files map[string]string, missing []string) {
	files = map[string]string{}
	for _, d := range a.done[key(r, ref)] {
		if !r.hasAncestor(tip, d.commit) {
			missing = append(missing, d.commit)
			continue
		}
		for name, e := range d.theirs {
			if delete(files, name); e != nil {
				files[name] = *e
			}
		}
	}
	return files, missing
}
