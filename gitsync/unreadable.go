package gitsync

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// unreadable is an object that the inputs define, or may define, in a way that cannot be read: it is
// invalid, there more than once, or perhaps in a file that cannot be read.
type unreadable struct {
	id      manifest.ID
	source  int // of the pipeline's
	reason  diag.Diagnostic
	hidden  []branch.Place   // where it may be; empty when it is known where it is
	standIn *manifest.Object // rendered in its place; nil when it is left out
}

// missing is a path that the pipeline names and a source has not.
type missing struct {
	source int
	path   string
	reason diag.Diagnostic
}

// replaceUnreadable finds the objects that cannot be read, and makes the set that is rendered: with
// what stands in for them.
func (p *pass) replaceUnreadable() error {
	p.unreadable = map[manifest.ID]*unreadable{}
	p.findDuplicates()
	p.findInvalid()
	if err := p.findHidden(); err != nil {
		return err
	}
	changes := map[manifest.ID]*manifest.Object{}
	for id, l := range p.unreadable {
		var err error
		if l.standIn, err = p.lastGood.standIn(id); err != nil {
			return err
		}
		if l.standIn != nil {
			changes[id] = l.standIn
		}
	}
	p.set = p.head
	if len(changes) > 0 {
		p.set = p.head.With(changes)
	}
	diags := p.set.Diags()
	for _, group := range p.set.Duplicates() {
		p.unreadable[group[0].ID].reason = firstError(diags, group[0].ID)
	}
	return nil
}

// nowhere reports whether no readable document defines an object, well or badly.
func (p *pass) nowhere(id manifest.ID) bool {
	return p.head.Get(id) == nil && (p.unreadable[id] == nil || len(p.unreadable[id].hidden) > 0)
}

// findDuplicates finds objects that are defined more than once: none of them is used.
func (p *pass) findDuplicates() {
	for _, group := range p.head.Duplicates() {
		source, _ := p.fileOf(group[0])
		p.unreadable[group[0].ID] = &unreadable{id: group[0].ID, source: source}
	}
}

// findInvalid finds objects that have a name and an error. A document that can be used beats
// another that cannot.
func (p *pass) findInvalid() {
	for i, src := range p.sources {
		for _, f := range src.Input.OddFiles() {
			for _, id := range f.Result.Invalid {
				if source.IsIdentity(id) && p.nowhere(id) {
					p.unreadable[id] = &unreadable{id: id, source: i, reason: firstError(f.Result.Diags, id)}
				}
			}
		}
	}
}

// fileOf finds the source and the file that an object of the head was read from.
func (p *pass) fileOf(o *manifest.Object) (int, *source.File) {
	for i, src := range p.sources {
		if f := src.Input.Files[o.File()]; f != nil && slices.Contains(f.Result.Objects, o) {
			return i, f
		}
	}
	return 0, nil
}

// firstError is the first error about an object.
func firstError(diags diag.List, id manifest.ID) diag.Diagnostic {
	for _, d := range diags {
		if d.Severity == diag.Error && objectID(d) == id {
			return d
		}
	}
	return diag.Diagnostic{}
}

// findHidden finds objects that are gone from every readable file while their source has files
// that cannot be read, and could before: a broken file is not a deletion.
func (p *pass) findHidden() error {
	for i := range p.sources {
		covers := p.covers(i)
		if len(covers) == 0 {
			continue
		}
		b, err := p.lastGood.base(i)
		if err != nil {
			return err
		}
		blind := b.Commit == nil || slices.ContainsFunc(covers, func(c unreadableSource) bool { return c.isPath && !b.Below(c.Path) })
		if blind {
			for _, c := range covers {
				p.unreadablePaths = append(p.unreadablePaths, c.Place)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(b.Files)) {
			over := slices.DeleteFunc(slices.Clone(covers), func(c unreadableSource) bool { return !c.hides(name, b) })
			for _, o := range b.Files[name].Result.Objects {
				p.hide(i, o.ID, over)
			}
			for _, id := range b.Files[name].Result.Invalid {
				p.hide(i, id, over)
			}
		}
		for _, r := range p.lastGood.records {
			p.hide(i, r.id, p.stillOver(i, r, covers, b, blind))
		}
	}
	return nil
}

// unreadableSource is a file or a path that cannot be read, and may hide objects.
type unreadableSource struct {
	branch.Place
	isPath bool // that the pipeline names, and not a file
	reason diag.Diagnostic
}

// covers are the files and paths of a source that cannot be read.
func (p *pass) covers(i int) []unreadableSource {
	src := p.sources[i]
	at := func(name string) branch.Place {
		return branch.Place{Source: src.Repo.URL(), Ref: src.Ref.RepoRef().String(), Path: name}
	}
	var out []unreadableSource
	for _, f := range src.Input.OddFiles() {
		if f.Unreadable() {
			c := unreadableSource{Place: at(f.Path)}
			if n := slices.IndexFunc(f.Result.Diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); n >= 0 {
				c.reason = f.Result.Diags[n]
			}
			out = append(out, c)
		}
	}
	for _, m := range p.missing {
		if m.source == i {
			out = append(out, unreadableSource{at(m.path), true, m.reason})
		}
	}
	return out
}

// hides reports whether what a file of the base held may be there now: any file may have been
// renamed, but what could not be read at the base either had nothing to do with the render.
func (c unreadableSource) hides(name string, b *source.Base) bool {
	if c.isPath {
		return pipeline.Within(c.Path, name)
	}
	return b.Differs[c.Path]
}

// missed reports whether an object that is nowhere may be where nothing can be read: nobody
// can tell if it was there at the base. One that was elsewhere then is deleted.
func (p *pass) missed(id manifest.ID) bool {
	for i := range p.sources {
		if len(p.unreadablePaths) == 0 {
			return false
		}
		b, err := p.lastGood.base(i)
		p.lastGood.keep(err)
		if err == nil && b.Defines(id) {
			return false
		}
	}
	return len(p.unreadablePaths) > 0
}

// stillOver are the places that hide a recorded object: where it was hidden before, and what
// cannot be read since the base. When that is not known it may be in any.
func (p *pass) stillOver(i int, r *record, covers []unreadableSource, b *source.Base, blind bool) []unreadableSource {
	src := p.sources[i]
	at := branch.Place{Source: src.Repo.URL(), Ref: src.Ref.RepoRef().String()}
	from := r.Source == at.Source && r.Ref == at.Ref ||
		slices.ContainsFunc(r.Hidden, func(h branch.Place) bool { return h.Source == at.Source && h.Ref == at.Ref })
	var out []unreadableSource
	for _, c := range covers {
		was := slices.Contains(r.Hidden, c.Place)
		fresh := from && (blind || len(r.Hidden) > 0 && !c.isPath && b.Differs[c.Path])
		if was || fresh {
			out = append(out, c)
		}
	}
	return out
}

// hide takes an object that is nowhere else for unreadable.
func (p *pass) hide(i int, id manifest.ID, over []unreadableSource) {
	if len(over) == 0 || !source.IsIdentity(id) || !p.nowhere(id) {
		return
	}
	l := p.unreadable[id]
	if l == nil {
		l = &unreadable{id: id, source: i, reason: over[0].reason}
		p.unreadable[id] = l
	}
	for _, c := range over {
		if !slices.Contains(l.hidden, c.Place) {
			l.hidden = append(l.hidden, c.Place)
			slices.SortFunc(l.hidden, branch.Place.Compare)
		}
	}
}
