package gitsync

import (
	"context"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// lastGood is what the output branch was rendered from. Nothing of it is read before somebody asks,
// so that good inputs cost no history. It implements [generator.LastGood], which gives no errors:
// the first is kept, and fails the pass.
type lastGood struct {
	*pass
	ctx     context.Context // of the pass
	records []*record       // of the output branch

	mu      sync.Mutex // guards what follows, and the pass's reader
	err     error
	inputs  map[string]map[string]bool // of units
	origins map[*manifest.Object]branch.Origin
}

func (p *pass) newLastGood(ctx context.Context) *lastGood {
	out := &lastGood{pass: p, ctx: ctx, inputs: map[string]map[string]bool{}, origins: map[*manifest.Object]branch.Origin{}}
	if p.branch.Inventory != nil {
		out.records = records(p.branch.Inventory)
	}
	texts := p.memory.texts
	p.memory.texts = map[parsedText]*manifest.Object{}
	for _, r := range out.records {
		if o := texts[r.parsed()]; o != nil {
			p.memory.texts[r.parsed()] = o
		}
	}
	return out
}

// Last implements generator.LastGood.
func (p *lastGood) Last(unit string, id manifest.ID) (*manifest.Object, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had, err := p.had(unit, id)
	if !had || err != nil {
		p.keep(err)
		return nil, false
	}
	o, err := p.last(unit, id)
	p.keep(err)
	return o, true
}

// Owns implements generator.LastGood.
func (p *lastGood) Owns(unit string, id manifest.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, err := p.branch.Unit(unit)
	if err == nil {
		err = u.Load()
	}
	p.keep(err)
	return err == nil && u.Exists() && u.Inventory.Owns(id)
}

func (p *lastGood) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// had reports whether the folder of a unit was rendered from an object.
func (p *lastGood) had(unit string, id manifest.ID) (bool, error) {
	inputs, ok := p.inputs[unit]
	if !ok {
		inputs = map[string]bool{}
		p.inputs[unit] = inputs
		u, err := p.branch.Unit(unit)
		if err == nil {
			err = u.Load()
		}
		if err != nil {
			return false, err
		}
		if u.Exists() {
			for _, text := range u.Inventory.Inputs {
				inputs[text] = true
			}
		}
	}
	return inputs[id.String()], nil
}

// last is the version of an object that a unit has: what is recorded of it, or what the object
// was at the base. Nil when that cannot be had.
func (p *lastGood) last(unit string, id manifest.ID) (*manifest.Object, error) {
	if r := p.recordFor(unit, id); r != nil {
		return p.recorded(r)
	}
	return p.atBase(id)
}

// recordFor is the record of the version that a unit has, its own or that of all units; nil
// when there is none.
func (p *lastGood) recordFor(unit string, id manifest.ID) *record {
	var common *record
	for _, r := range p.versions(id) {
		if slices.Contains(r.Units, unit) {
			return r
		}
		if len(r.Units) == 0 {
			common = r
		}
	}
	return common
}

// recordOf is the record of this version of an object; of its being left out, if that is nil.
func (p *lastGood) recordOf(id manifest.ID, version *manifest.Object) (*record, error) {
	for _, r := range p.records {
		switch {
		case r.id != id || (version == nil) != (r.Commit == ""):
			continue
		case version == nil:
			return r, nil
		}
		if o, err := p.recorded(r); err != nil || o != nil && o.Digest == version.Digest {
			return r, err
		}
	}
	return nil, nil
}

// standIn is the version of an object that stands in for it, for all units, when it cannot be
// read; nil when there is none. It is what it was at the base, unless that was wrong for all. What
// nobody was rendered from has none: the next commit would lose it.
func (p *lastGood) standIn(id manifest.ID) (*manifest.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if used, err := p.isUsed(id); !used || err != nil {
		return nil, err
	}
	base, err := p.atBase(id)
	if err != nil {
		return nil, err
	}
	if held, err := p.heldByAll(id); base != nil && !held || err != nil {
		return base, err
	}
	for _, r := range p.versions(id) { // that of all units comes first
		if o, err := p.recorded(r); o != nil || err != nil {
			return o, err
		}
	}
	return base, nil
}

// isUsed reports whether any unit was rendered from an object. A Namespace counts without, as
// its labels select.
func (p *lastGood) isUsed(id manifest.ID) (bool, error) {
	if id.Kind == source.NamespaceKind {
		return true, nil
	}
	for name := range p.branch.Units {
		if had, err := p.had(name, id); had || err != nil {
			return had, err
		}
	}
	return false, nil
}

// heldByAll reports whether every unit that has an object has an older version of it than the
// base.
func (p *lastGood) heldByAll(id manifest.ID) (bool, error) {
	if len(p.versions(id)) == 0 {
		return false, nil
	}
	for name := range p.branch.Units {
		if had, err := p.had(name, id); err != nil || had && p.recordFor(name, id) == nil {
			return false, err
		}
	}
	return true, nil
}

// versions are the records that keep a version of an object, that of all units first.
func (p *lastGood) versions(id manifest.ID) []*record {
	var out []*record
	for _, r := range p.records {
		if r.id == id && r.Commit != "" {
			out = append(out, r)
		}
	}
	return out
}

// atBase is an object as it was when the output was last rendered; nil when it was not there,
// was invalid or there twice, or when nothing is known.
func (p *lastGood) atBase(id manifest.ID) (*manifest.Object, error) {
	var all []*manifest.Object
	var from branch.Origin
	for i := range p.sources {
		b, err := p.base(i)
		if err != nil {
			return nil, err
		}
		if b.Commit == nil {
			continue
		}
		for _, f := range b.Definitions(id, p.head, p.sources[i]) {
			all, from = append(all, f.Object), p.origin(i, b, f.File)
		}
	}
	if len(all) != 1 {
		return nil, nil
	}
	p.origins[all[0]] = from
	return all[0], nil
}

func (p *lastGood) origin(i int, b *source.Base, f *source.File) branch.Origin {
	src := p.sources[i]
	return branch.Origin{
		Source: src.Repo.URL(), Ref: src.Ref.RepoRef().String(), Commit: b.Commit.Hash.String(), Date: commitRef(b.Commit).Date,
		Path: f.Path, Blob: f.Blob.String(),
	}
}

func (p *lastGood) base(i int) (*source.Base, error) { return p.pass.base(p.ctx, i) }

// sourceOf finds the source that an origin names; -1 when the pipeline has it no more.
func (p *pass) sourceOf(o branch.Origin) int {
	return slices.IndexFunc(p.sources, func(s *source.Source) bool { return s.Repo.URL() == o.Source && s.Ref.RepoRef().String() == o.Ref })
}

// atCommit reads an object from the commit that it comes from; nil when it cannot be had.
func (p *lastGood) atCommit(o branch.Origin, id manifest.ID) (*manifest.Object, error) {
	i := p.sourceOf(o)
	if i < 0 {
		return nil, nil
	}
	src := p.sources[i]
	commit, err := p.oldCommit(p.ctx, i, plumbing.NewHash(o.Commit))
	if commit == nil || err != nil {
		return nil, err
	}
	rd := src.Repo.Reader()
	defer rd.Close()
	entry, err := rd.Lookup(commit.Tree, o.Path)
	if err != nil || entry.Hash.String() != o.Blob {
		return nil, notFoundIsNil(err)
	}
	f := src.File(o.Path, entry)
	if err := src.ParseFile(rd, f, p.pipeline.Spec.ParseOptions()); err != nil {
		return nil, err
	}
	return only(f.Result, id), nil
}

// only is the object of an identity that a file defines once; nil when it does not.
func only(r manifest.Result, id manifest.ID) *manifest.Object {
	var out *manifest.Object
	for _, o := range r.IgnoreUnknownFields(nil).Objects {
		if o.ID != id {
			continue
		}
		if out != nil {
			return nil
		}
		out = o
	}
	return out
}
