package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/agentry-dev/agentry/test/history"
)

// oracle checks the output branches.
type oracle struct {
	*testbed
	renderer *history.Renderer
	clean    bool // all objects are correct, and all proposals merged
	// refused has the pipelines that write nothing now, according to their replicas, so that manual changes stay.
	refused map[string]bool
}

// ask checks everything.
func (w *testbed) ask(ctx context.Context, clean bool) error {
	o := &oracle{testbed: w, renderer: history.NewRenderer(), clean: clean,
		refused: map[string]bool{}}
	var errs []error
	if clean {
		errs = append(errs, w.areReady(ctx))
	} else if err := o.findRefused(ctx); err != nil {
		return err
	}
	for _, p := range w.outputs() {
		if err := o.pipeline(p); err != nil {
			errs = append(errs, fmt.Errorf("pipeline %s, %s of %s: %w", p.name, p.rendered(), w.repos[p.output].dir,
				err))
		}
	}
	for _, r := range w.repos {
		errs = append(errs, o.branches(r), o.server(r))
	}
	return errors.Join(errs...)
}

// findRefused asks a replica for the pipelines that write nothing.
func (o *oracle) findRefused(ctx context.Context) error {
	status, _, err := o.replicas[0].status(ctx)
	for _, p := range o.running() {
		o.refused[p.name] = meta.IsStatusConditionTrue(status[p.name].Conditions, fluxmeta.StalledCondition)
	}
	return err
}

// writes reports whether a pipeline writes its render now, and reverts manual changes. A stalled pipeline does not, nor
// one whose folder is gone.
func (o *oracle) writes(p *pipeline) bool { return o.runs(p) && !o.refused[p.name] }

// lost reports whether an actor removed an inventory that nobody restores now.
func (o *oracle) lost(p *pipeline) bool {
	for name := range o.tampered(p) {
		if path.Base(name) == path.Base(history.InventoryFile) && !o.writes(p) {
			return true
		}
	}
	return false
}

// tampered returns agentry's files that an actor changed at any time on a pipeline's branch.
func (o *oracle) tampered(p *pipeline) map[string]bool {
	return o.actors.tampered[key(o.repos[p.output], p.ref())]
}

// outputs returns all existing pipelines, and the pipelines of folders that are gone.
func (w *testbed) outputs() []*pipeline {
	out := w.running()
	for _, p := range w.config.pipelines {
		for n := range fleetFolders {
			if !p.forEach {
				continue
			}
			one := p.of(fleetFolder(n))
			if !slices.ContainsFunc(out, func(p *pipeline) bool { return p.name == one.name }) {
				out = append(out, one)
			}
		}
	}
	return out
}

// runs reports whether a pipeline exists.
func (o *oracle) runs(p *pipeline) bool {
	return slices.ContainsFunc(o.running(), func(one *pipeline) bool { return one.name == p.name })
}

// pipeline checks the output of a pipeline.
func (o *oracle) pipeline(p *pipeline) error {
	r := o.repos[p.output]
	tip := r.tip(p.rendered())
	if tip == "" {
		if o.clean && o.runs(p) {
			return errors.New("there is none though all objects are right")
		}
		return nil
	}
	if _, there := r.show(tip, path.Join(p.path, history.InventoryFile)); !there && (!o.clean || !o.runs(p)) {
		return nil // a pipeline that never rendered anything, on a branch shared by several
	}
	if o.lost(p) {
		return nil
	}
	b, err := readBranch(p, r, tip)
	if err != nil {
		return err
	}
	o.counts.rendered.Add(1)
	if p.next {
		if err := o.proposal(b); err != nil && o.writes(p) {
			return err
		}
	} else if err := b.CheckMetadata(); err != nil {
		return fmt.Errorf("%s: %w", tip, err)
	}
	if len(b.Sources) == 0 && len(b.Units) == 0 {
		return nil // the first commit of a branch to promote to
	}
	return o.atRest(b)
}

// lostInventory reports whether an actor changed the inventory of a unit. It is restored when the unit is written
// again.
func (o *oracle) lostInventory(p *pipeline, unit string) bool {
	return (!o.clean || !o.writes(p)) && o.tampered(p)[path.Join(p.path, unit, history.InventoryFile)]
}

// proposal checks the promises of docs/promotion.md about the branch with proposals.
func (o *oracle) proposal(b *branch) error {
	p, r := b.pipeline, b.remote
	active := r.tip(p.ref())
	if active == "" {
		return fmt.Errorf("there is no %s to promote to", p.branch)
	}
	if b.commit != active {
		if parents := r.parents(b.commit); !slices.Equal(parents, []string{active}) {
			return fmt.Errorf("%s is on top of %v, not of %s", b.commit, parents, active)
		}
		if err := o.lockOf(b); err != nil {
			return err
		}
	}
	return o.noteOf(b)
}

// lockOf checks that the drySha of a proposal names its sources, and differs from the drySha of the branch.
func (o *oracle) lockOf(b *branch) error {
	p, r := b.pipeline, b.remote
	if old, err := readBranch(p, r, r.tip(p.ref())); err == nil && old.DrySHA == b.DrySHA {
		return fmt.Errorf("%s proposes something with the drySha %s, which %s has too", b.commit, b.DrySHA, p.branch)
	}
	var lock lockFile
	if err := readJSON(r, b.DrySHA, p.name+".lock", &lock); err != nil {
		return fmt.Errorf("drySha of %s: %w", b.commit, err)
	}
	if lock.Pipeline != p.name || !slices.Equal(lock.Sources, b.Sources) {
		return fmt.Errorf("drySha %s of %s locks %v, the bases are %v", b.DrySHA, b.commit, lock.Sources, b.Sources)
	}
	return nil
}

// noteOf checks that the note of the tip says that the tip is up to date with the heads.
func (o *oracle) noteOf(b *branch) error {
	text, err := b.remote.git("notes", "--ref", notesRef, "show", b.commit)
	if err != nil {
		return fmt.Errorf("%s has no note: %w", b.commit, err)
	}
	var note struct {
		DrySHA string `json:"drySha"`
	}
	if err := decode(text, &note); err != nil {
		return fmt.Errorf("the note of %s is %q: %w", b.commit, text, err)
	}
	var lock lockFile
	if err := readJSON(b.remote, note.DrySHA, b.pipeline.name+".lock", &lock); err != nil {
		return fmt.Errorf("the note of %s: %w", b.commit, err)
	}
	for i, s := range b.pipeline.sources {
		if head := o.authors[s.remote].head(); i >= len(lock.Sources) || lock.Sources[i].Commit != head {
			return fmt.Errorf("the note of %s says %s, which locks %v, and the head of source %d is %s", b.commit,
				note.DrySHA, lock.Sources, i, head)
		}
	}
	if tip := b.remote.tip(inputsRef); !b.remote.hasAncestor(tip, note.DrySHA) {
		return fmt.Errorf("the note of %s says %s, which is not on %s", b.commit, note.DrySHA, inputsRef)
	}
	return nil
}
