package fleet

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Set replaces the configuration. Pipelines that are new, changed or resumed pass as soon as they can;
// unchanged ones go on; removed or suspended ones stop after their running pass. Problems are about
// files that could not be read, whose last good definitions are among defs; [Fleet.Problems] returns
// them. It does not wait.
func (f *Fleet) Set(defs []Definition, problems diag.List) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.defs, f.problems = pointers(defs), slices.Clone(problems)
	f.rebuild()
}

// SetActive says whether this replica makes the passes. When it begins to, all pipelines pass as soon as
// they can. When it ends to, running passes end first, and another replica may make passes meanwhile.
func (f *Fleet) SetActive(active bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = active
	f.rebuild()
}

// rebuild applies the configuration, with what forEach has made of folders. f.mu is held.
func (f *Fleet) rebuild() {
	if f.ending {
		return
	}
	all, doubles := effective(f.defs, f.pipelines)
	f.doubles = doubles
	f.limiters = limiters(all, f.limiters)
	wanted := make(map[string]bool, len(all))
	f.order = f.order[:0:0]
	for _, e := range resolve(all, f.active) {
		name := e.def.Metadata.Name
		wanted[name] = true
		p := f.pipelines[name]
		if p == nil {
			p = &runner{def: e.def, removed: true}
			f.pipelines[name] = p
		}
		f.order = append(f.order, p)
		same := p.isSame(e)
		if !same {
			f.detach(p)
		}
		p.set(e, same, f.options.MinGap)
	}
	for name, p := range f.pipelines {
		if !wanted[name] {
			f.remove(p)
		}
	}
	for _, p := range f.order {
		f.review(p)
	}
	f.schedule(f.order...)
}

// remove stops a pipeline that is no longer configured, or whose folder is gone. Its branch stays. f.mu
// is held.
func (f *Fleet) remove(p *runner) {
	if !p.removed {
		p.removed = true
		f.detach(p)
		f.log.Info("pipeline removed, its branch stays", "pipeline", p.name(), "origin", p.def.Origin)
	}
	if !p.inPass() { // else the end of its pass removes it
		delete(f.pipelines, p.name())
		f.notifier.add(Outcome{Definition: p.def, After: p.published(view{}), Removed: true})
	}
}
