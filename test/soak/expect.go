package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/test/history"
)

// model returns the settings of a pipeline that the model knows.
func (p *pipeline) model() history.Pipeline {
	out := history.Pipeline{Plain: p.plain}
	for _, s := range p.sources {
		out.Paths = append(out.Paths, s.paths)
	}
	return out
}

// documents returns what a pipeline reads of its sources at commits.
func (o *oracle) documents(p *pipeline) history.Documents {
	return func(i int, commit string) history.Files {
		all, known := o.authors[p.sources[i].remote].commits[commit]
		if !known {
			return nil
		}
		out := history.Files{}
		for _, dir := range p.sources[i].paths {
			for name, docs := range all {
				if strings.HasPrefix(name, dir+"/") {
					out[name] = docs
				}
			}
		}
		return out
	}
}

// heads returns what a pipeline reads of its sources now.
func (o *oracle) heads(p *pipeline) []history.Files {
	var out []history.Files
	for i, s := range p.sources {
		out = append(out, o.documents(p)(i, o.authors[s.remote].head()))
	}
	return out
}

// state returns what a branch says of itself. Its sources must be those of the pipeline.
func (o *oracle) state(b *branch) (history.State, error) {
	for i, s := range b.Sources {
		if len(b.Sources) != len(b.pipeline.sources) ||
			s.URL != normal(o.repos[b.pipeline.sources[i].remote].url) || s.Ref != "branch "+inputsBranch {
			return history.State{}, fmt.Errorf("%s: its sources are none of the pipeline's: %v", b.commit, b.Sources)
		}
	}
	st, err := b.State(o.documents(b.pipeline))
	if len(b.Sources) == 0 { // nothing was rendered yet
		st.Base = make([]history.Files, len(b.pipeline.sources))
	}
	if err != nil {
		return st, fmt.Errorf("%s: %w", b.commit, err)
	}
	o.counts.versions.Add(int64(len(b.Held)))
	o.counts.units.Add(int64(len(b.Units)))
	return st, nil
}

// normal returns a URL in the form of inventories.
func normal(url string) string { return strings.TrimSuffix(url, ".git") }

// expect checks that a branch is what a pass makes of another one that sees these sources.
func (o *oracle) expect(before, after *branch, now []history.Files,
	check func(*history.Model, *history.Verdict) string) error {
	was, err := o.state(before)
	if err != nil {
		return err
	}
	if o.renderer.IsFull() {
		o.renderer = history.NewRenderer()
	}
	var diff string
	for _, lost := range o.losses(before.pipeline) {
		m := &history.Model{Pipeline: before.pipeline.model(), Renderer: o.renderer, State: was, Before: before.Files,
			Epochs: make([]int, len(now))}
		base := slices.Clone(was.Base)
		for i, l := range lost {
			if l.base {
				base[i] = nil
			}
			if l.records {
				m.Epochs[i] = 1
			}
		}
		v := m.Expect(now, base)
		if o.renderer.Err != nil {
			return o.renderer.Err
		}
		one := "nothing may be committed, because secrets would stay in clear"
		if !v.Refused {
			one = v.Differs(before.Files, after.Files, isTheirs)
		}
		if one == "" {
			one = check(m, v)
		}
		if one == "" {
			return nil
		}
		if diff == "" {
			diff = one
		}
	}
	return fmt.Errorf("%s is not what a pass makes of %s: %s", after.commit, before.commit, diff)
}

// loss says which commits of a source a replica cannot have any more.
type loss struct{ base, records bool }

// losses returns what replicas may have lost of the sources. After rewritten history it depends on their caches, unless
// the remote sends unreachable commits.
func (o *oracle) losses(p *pipeline) [][]loss {
	out := [][]loss{nil}
	for _, s := range p.sources {
		possible := []loss{{}}
		if a := o.authors[s.remote]; a.rewinds > 0 && !a.remote.generous {
			possible = append(possible, loss{base: true}, loss{records: true}, loss{true, true})
		}
		var longer [][]loss
		for _, l := range possible {
			for _, of := range out {
				longer = append(longer, append(slices.Clone(of), l))
			}
		}
		out = longer
	}
	return out
}

// committed checks that a commit of a replica is what a pass makes of its parent.
func (o *oracle) committed(b *branch) error {
	before := o.nothing(b)
	if parents := b.remote.parents(b.commit); len(parents) > 0 {
		var err error
		if before, err = o.read(b.pipeline, b.remote, parents[0]); before == nil {
			return err
		}
	}
	is, err := o.state(b)
	if err != nil {
		return err
	}
	return errors.Join(b.CheckUnits(), o.expect(before, b, is.Base, func(m *history.Model, v *history.Verdict) string {
		m.Commit(v)
		return m.State.Differs(is)
	}))
}

// nothing returns a branch without a commit.
func (o *oracle) nothing(b *branch) *branch {
	return &branch{Branch: &history.Branch{Files: map[string]string{}}, pipeline: b.pipeline, remote: b.remote}
}

// read reads a branch from which a pass began. It returns nil if an actor removed an inventory, which agentry restores
// from older commits.
func (o *oracle) read(p *pipeline, r *remote, commit string) (*branch, error) {
	b, err := readBranch(p, r, commit)
	if err == nil {
		_, err = b.Owned(func(string) bool { return false })
	}
	if err == nil {
		return b, nil
	}
	for name := range o.tampered(p) {
		if path.Base(name) == path.Base(history.InventoryFile) {
			return nil, nil
		}
	}
	if _, there := r.show(commit, path.Join(p.path, history.InventoryFile)); there {
		return nil, err
	}
	return o.nothing(&branch{pipeline: p, remote: r}), nil // the branch of others
}

// atRest checks that a pass would leave a branch as it is, and its proposal if it has one.
func (o *oracle) atRest(b *branch) error {
	p, from := b.pipeline, b.commit
	if err := errors.Join(b.CheckUnits(), o.leavesNothingOut(b)); err != nil && o.writes(p) {
		return fmt.Errorf("%s: %w", b.commit, err)
	}
	if p.next {
		from = b.remote.tip(p.ref())
	}
	before, err := o.read(p, b.remote, from)
	if before == nil || !o.writes(p) && (p.next || len(o.tampered(p)) > 0) {
		return err
	}
	now := o.heads(p)
	if !o.writes(p) { // then it is as it was written
		is, err := o.state(b)
		if err != nil {
			return err
		}
		now = is.Base
	}
	return o.expect(before, b, now, func(_ *history.Model, v *history.Verdict) string {
		if o.clean && o.runs(p) && !v.IsGood() {
			return "the inputs were not put right"
		}
		return ""
	})
}

// leavesNothingOut checks that no unit is rendered from an object that the inventory says is left out.
func (o *oracle) leavesNothingOut(b *branch) error {
	if slices.ContainsFunc(o.losses(b.pipeline), func(l []loss) bool { return slices.Contains(l, loss{base: true}) }) {
		return nil // the last version may not be available any more
	}
	for _, r := range b.Held {
		for _, name := range b.Units {
			if u, err := b.Unit(name); err == nil && r.Commit == "" && slices.Contains(u.Inputs, r.Object) &&
				(len(r.Units) == 0 || slices.Contains(r.Units, name)) {
				return fmt.Errorf("%s is left out, says the inventory, and unit %s is rendered from it", r.Object,
					name)
			}
		}
	}
	return nil
}
