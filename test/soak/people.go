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

// people are those who have their hands on outputs: who edit and rewrite them, merge proposals,
// and write notes.
type people struct {
	*world
	rand  *rand.Rand
	done  map[string][]deed // by remote and branch: what must not be lost, in order
	notes []foreignNote
	// tampered are files of agentry that somebody changed at any time, by remote and branch.
	tampered map[string]map[string]bool
	n        int
}

// deed is a commit on an output branch.
type deed struct {
	commit   string
	theirs   map[string]edit // files that are none of agentry's
	tampered []string        // files of agentry's
}

// foreignNote is a note of somebody else.
type foreignNote struct {
	remote       *remote
	commit, text string
}

func (p *people) act(ctx context.Context) {
	every(ctx, p.rand, peopleEvery, func() {
		what, err := p.step()
		switch {
		case errors.Is(err, errNothing):
		case err != nil:
			p.events.say("somebody was too slow: %v", err)
		default:
			p.events.say("%s", what)
		}
	})
}

// errNothing says that there is nothing to do it with.
var errNothing = errors.New("nothing to do")

func (p *people) step() (string, error) {
	r := p.repos[p.rand.IntN(len(p.repos))]
	n := p.rand.IntN(100)
	switch {
	case n < 35:
		return p.mergeOne(r)
	case n < 40:
		return p.note(r)
	case n < 41:
		return p.loseInputs(r)
	case n < 44:
		return p.editProposal(r)
	}
	ref, err := p.someOutput(r)
	if err != nil {
		return "", err
	}
	switch {
	case n < 47:
		return p.remove(r, ref)
	case n < 51:
		return p.rewind(r, ref)
	}
	return p.edit(r, ref)
}

// someOutput picks an output branch that there is.
func (p *people) someOutput(r *remote) (string, error) {
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
	return outputs[p.rand.IntN(len(outputs))], nil
}

// isOutput reports whether a ref is an output branch, and none that holds proposals.
func isOutput(ref string) bool {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	return ok && (strings.HasPrefix(name, "env/") || name == "together") && !strings.HasSuffix(name, "-next") && !strings.Contains(name, "-next/")
}

func key(r *remote, ref string) string { return filepath.Base(r.dir) + " " + ref }

// edit commits something to an output branch.
func (p *people) edit(r *remote, ref string) (string, error) {
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
	d, what := p.choose(theirs, ours)
	if what == "" {
		return "", errNothing
	}
	edits := map[string]edit{}
	for name, e := range d.theirs {
		edits[name] = e
	}
	for _, name := range d.tampered {
		edits[name] = nil
		if text, ok := r.show(tip, name); ok && p.rand.IntN(2) == 0 {
			edits[name] = write(text + "# by hand\n")
		}
	}
	d.commit, err = r.commit(strings.TrimPrefix(ref, "refs/heads/"), tip, edits, what, time.Unix(1_700_000_000, 0))
	if err != nil {
		return "", err
	}
	p.counts.edits.Add(1)
	p.done[key(r, ref)] = append(p.done[key(r, ref)], d)
	if p.tampered[key(r, ref)] == nil {
		p.tampered[key(r, ref)] = map[string]bool{}
	}
	for _, name := range d.tampered {
		p.tampered[key(r, ref)][name] = true
	}
	return fmt.Sprintf("somebody commits to %s: %s, %s", key(r, ref), d.commit, what), nil
}

// theirMark is in the names of files that are none of agentry's.
const theirMark = "theirs"

func isTheirs(name string) bool { return strings.Contains(path.Base(name), theirMark) }

// choose decides what is edited.
func (p *people) choose(theirs, ours []string) (deed, string) {
	p.n++
	one := func(of []string) string { return of[p.rand.IntN(len(of))] }
	switch n := p.rand.IntN(10); {
	case len(ours) == 0:
		return deed{}, ""
	case n < 4 || len(theirs) == 0 && n < 6:
		name := path.Join(path.Dir(one(ours)), fmt.Sprintf("%s-%d%s", theirMark, p.rand.IntN(5), []string{".yaml", ".txt"}[p.rand.IntN(2)]))
		return deed{theirs: map[string]edit{name: write(fmt.Sprintf("# of others, %d\n", p.n))}}, "puts " + name
	case n < 6:
		name := one(theirs)
		return deed{theirs: map[string]edit{name: nil}}, "removes " + name
	case n < 9:
		name := one(ours)
		return deed{tampered: []string{name}}, "changes " + name
	}
	dir := path.Dir(one(ours))
	return deed{tampered: []string{path.Join(dir, ".agentry/inventory")}}, "loses the inventory of " + dir
}

// remove deletes an output branch.
func (p *people) remove(r *remote, ref string) (string, error) {
	if err := r.move(ref, r.tip(ref), ""); err != nil {
		return "", err
	}
	p.counts.rewrites.Add(1)
	delete(p.done, key(r, ref))
	return "somebody deletes " + key(r, ref), nil
}

// rewind takes the last commits of an output branch back.
func (p *people) rewind(r *remote, ref string) (string, error) {
	tip := r.tip(ref)
	old, err := r.git("rev-parse", "-q", "--verify", fmt.Sprintf("%s~%d", tip, 1+p.rand.IntN(3)))
	if err != nil {
		return "", errNothing
	}
	if err := r.move(ref, tip, old); err != nil {
		return "", err
	}
	p.counts.rewrites.Add(1)
	p.done[key(r, ref)] = slices.DeleteFunc(p.done[key(r, ref)], func(d deed) bool { return !r.hasAncestor(old, d.commit) })
	return fmt.Sprintf("somebody takes %s back from %s to %s", key(r, ref), tip, old), nil
}

// note writes a note of another program on an input commit.
func (p *people) note(r *remote) (string, error) {
	p.n++
	commit, text := r.tip("refs/heads/"+inputsBranch), fmt.Sprintf(`{"other":%d}`, p.n)
	if _, err := r.git("notes", "--ref", notesRef, "add", "-f", "-m", text, commit); err != nil {
		return "", err
	}
	p.notes = slices.DeleteFunc(p.notes, func(n foreignNote) bool { return n.remote == r && n.commit == commit })
	p.notes = append(p.notes, foreignNote{r, commit, text})
	return fmt.Sprintf("a note of others on %s", commit), nil
}

// loseInputs deletes the branch that lock files are on.
func (p *people) loseInputs(r *remote) (string, error) {
	tip := r.tip(inputsRef)
	if tip == "" {
		return "", errNothing
	}
	return "somebody deletes " + key(r, inputsRef), r.move(inputsRef, tip, "")
}

// proposing picks a pipeline that proposes.
func (p *people) proposing(r *remote) *pipeline {
	var all []*pipeline
	for _, one := range p.config.pipelines {
		if one.next && p.repos[one.output] == r {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[p.rand.IntN(len(all))]
}

// editProposal puts a branch of proposals somewhere else.
func (p *people) editProposal(r *remote) (string, error) {
	one := p.proposing(r)
	if one == nil {
		return "", errNothing
	}
	ref := one.rendered()
	tip := r.tip(ref)
	if tip == "" {
		return "", errNothing
	}
	if p.rand.IntN(2) == 0 {
		return "somebody deletes " + key(r, ref), r.move(ref, tip, "")
	}
	commit, err := r.commit(strings.TrimPrefix(ref, "refs/heads/"), tip, map[string]edit{"theirs.txt": write("A correction.\n")}, "Correct this", time.Unix(1_700_000_000, 0))
	return fmt.Sprintf("somebody commits to %s: %s", key(r, ref), commit), err
}

// mergeOne merges a proposal.
func (p *people) mergeOne(r *remote) (string, error) {
	one := p.proposing(r)
	if one == nil {
		return "", errNothing
	}
	return p.merge(one)
}

// merge merges the proposal of a pipeline as a forge would: by moving the branch, squashed, or
// with a commit that joins both.
func (p *people) merge(one *pipeline) (string, error) {
	r := p.repos[one.output]
	active, proposed := r.tip(one.ref()), r.tip(one.rendered())
	if active == "" || proposed == "" || active == proposed || !slices.Equal(r.parents(proposed), []string{active}) {
		return "", errNothing
	}
	if who, err := r.git("log", "-1", "--format=%ae", proposed); err != nil || who != "agentry@localhost" {
		return "", errNothing // it is what somebody made of the proposal
	}
	commit, style := proposed, "by moving"
	args := []string{"commit-tree", proposed + "^{tree}", "-p", active, "-m", "Promote " + one.name}
	switch p.rand.IntN(3) {
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
	p.counts.merges.Add(1)
	p.done[key(r, one.ref())] = append(p.done[key(r, one.ref())], deed{commit: commit})
	return fmt.Sprintf("%s is promoted to %s %s", key(r, one.ref()), commit, style), nil
}

// mergeAll merges all proposals, and reports whether there were any.
func (p *people) mergeAll() (bool, error) {
	merged := false
	for _, one := range p.config.pipelines {
		if !one.next {
			continue
		}
		what, err := p.merge(one)
		switch {
		case errors.Is(err, errNothing):
		case err != nil:
			return merged, err
		default:
			merged = true
			p.events.say("%s", what)
		}
	}
	return merged, nil
}

// theirs are the files of others that a branch must have at a tip, and the commits of others that
// it should have and has not.
func (p *people) theirs(r *remote, ref, tip string) (files map[string]string, lost []string) {
	files = map[string]string{}
	for _, d := range p.done[key(r, ref)] {
		if !r.hasAncestor(tip, d.commit) {
			lost = append(lost, d.commit)
			continue
		}
		for name, e := range d.theirs {
			if delete(files, name); e != nil {
				files[name] = *e
			}
		}
	}
	return files, lost
}
