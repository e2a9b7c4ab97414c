package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/test/history"
)

func decode(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// readJSON decodes a file of a commit.
func readJSON(r *remote, commit, name string, into any) error {
	text, ok := r.show(commit, name)
	if !ok {
		return fmt.Errorf("%q has no %s", commit, name)
	}
	return decode(text, into)
}

// branches checks the owners of files on all output branches of a remote, and that foreign changes are preserved.
func (o *oracle) branches(r *remote) error {
	by := map[string][]*pipeline{}
	for _, p := range o.outputs() {
		if o.repos[p.output] == r {
			by[p.rendered()] = append(by[p.rendered()], p)
		}
	}
	var errs []error
	for ref, pipelines := range by {
		if tip := r.tip(ref); tip != "" {
			if err := o.owners(r, tip, pipelines); err != nil {
				errs = append(errs, fmt.Errorf("%s at %s: %w", key(r, ref), tip, err))
			}
		}
		active := pipelines[0].ref()
		if tip := r.tip(active); tip != "" {
			if _, lost := o.actors.theirs(r, active, tip); len(lost) > 0 {
				errs = append(errs, fmt.Errorf("%s at %s has lost the commits of others %v", key(r, active), tip, lost))
			}
		} else if len(o.actors.done[key(r, active)]) > 0 {
			errs = append(errs, fmt.Errorf("%s is gone, and nobody deleted it", key(r, active)))
		}
	}
	return errors.Join(errs...)
}

// owners checks that each file of a branch is either in an inventory, or foreign and unchanged.
func (o *oracle) owners(r *remote, tip string, pipelines []*pipeline) error {
	all, err := r.tree(tip)
	if err != nil {
		return err
	}
	owned := map[string]bool{}
	var unknown []string // the folders of units whose inventory an actor removed
	plain := false
	for _, p := range pipelines {
		if plain = plain || p.plain; o.lost(p) || p.next && !o.writes(p) {
			return nil
		}
		if _, there := all[path.Join(p.path, history.InventoryFile)]; !there {
			continue
		}
		b, err := readBranch(p, r, tip)
		if err != nil {
			return err
		}
		own, err := b.Owned(func(unit string) bool {
			if !o.lostInventory(p, unit) {
				return false
			}
			unknown = append(unknown, path.Join(p.path, unit)+"/")
			return true
		})
		if err != nil {
			return err
		}
		for name := range own {
			owned[path.Join(p.path, name)] = true
		}
	}
	if err := history.CheckSecrets(all, plain); err != nil {
		return err
	}
	for name := range owned {
		if _, there := all[name]; !there && !o.kept(pipelines, name) {
			return fmt.Errorf("%s is in an inventory, and not there", name)
		}
	}
	for name := range all {
		if slices.ContainsFunc(unknown, func(dir string) bool {
			return strings.HasPrefix(name, dir) && !isTheirs(name)
		}) {
			owned[name] = true
		}
	}
	theirs, _ := o.actors.theirs(r, pipelines[0].ref(), tip)
	return history.CheckOwners(all, owned, theirs)
}

// kept reports whether a file may be missing: an actor removed it, and its unit is held or no longer written.
func (o *oracle) kept(pipelines []*pipeline, name string) bool {
	return slices.ContainsFunc(pipelines, func(p *pipeline) bool {
		return !o.clean || !o.writes(p)
	}) && o.tampered(pipelines[0])[name]
}

// server checks the repository itself, and every move of a ref.
func (o *oracle) server(r *remote) error {
	if _, err := r.git("fsck", "--strict", "--no-dangling", "--no-progress"); err != nil {
		return err
	}
	for _, n := range o.actors.notes {
		if n.remote != r {
			continue
		}
		if text, err := r.git("notes", "--ref", notesRef, "show", n.commit); err != nil || text != n.text {
			return fmt.Errorf("%s: the note of others on %s is %q, they wrote %q: %w", r.dir, n.commit, text, n.text,
				err)
		}
	}
	all, err := r.transactions()
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(all[r.checked:], func(t transaction) bool { return t.by != byReplica || t.old == t.new })
	r.checked = len(all)
	for _, t := range fresh {
		o.counts.moved.Add(1)
		if err := errors.Join(o.move(r, t), o.pushed(r, t)); err != nil {
			return fmt.Errorf("%s: %s was moved from %s to %s: %w", r.dir, t.ref, t.old, t.new, err)
		}
	}
	return nil
}

// pushed checks the commit that a replica pushed to an output branch.
func (o *oracle) pushed(r *remote, t transaction) error {
	for _, p := range o.outputs() {
		if o.repos[p.output] != r || p.rendered() != t.ref {
			continue
		}
		now, err := r.git("rev-parse", "-q", "--verify", t.new+":"+p.path)
		if err != nil {
			continue
		}
		before, err := r.git("rev-parse", "-q", "--verify", t.new+"^:"+p.path)
		if err == nil && before == now {
			continue // it is another pipeline's, or a withdrawn proposal
		}
		b, err := readBranch(p, r, t.new)
		if err != nil {
			return err
		}
		if len(b.Sources) == 0 {
			continue // the first commit of a branch to promote to
		}
		o.counts.looked.Add(1)
		if err := o.committed(b); err != nil {
			return err
		}
	}
	return nil
}

// move checks that a replica moved a ref forward by one commit.
func (o *oracle) move(r *remote, t transaction) error {
	if t.new == zero {
		return errors.New("agentry deletes nothing")
	}
	var proposes, known bool
	for _, p := range o.outputs() {
		if o.repos[p.output] == r && p.rendered() == t.ref {
			proposes, known = p.next, true
		}
		if o.repos[p.output] == r && p.ref() == t.ref && p.next && t.old != zero {
			return errors.New("agentry writes nothing to a branch that others promote to")
		}
		known = known || o.repos[p.output] == r && p.ref() == t.ref
	}
	switch {
	case t.ref != inputsRef && t.ref != notesRef && !known:
		return errors.New("that is none of agentry's")
	case proposes, t.old == zero:
		return nil
	case !slices.Equal(r.parents(t.new), []string{t.old}):
		return fmt.Errorf("its parents are %v", r.parents(t.new))
	}
	return nil
}
