package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

// Set replaces the configuration. Pipelines that are new, changed or resumed pass as soon as
// they can; those that are the same go on untouched; those that are gone or suspended stop
// after the pass that is under way. Problems are of files that could not be read, whose last
// good definitions are among defs; they are shown by [Fleet.Problems]. It does not wait.
func (f *Fleet) Set(defs []Definition, problems diag.List) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.defs, f.problems = pointers(defs), slices.Clone(problems)
	f.rebuild()
}

// Rebalance looks again at which pipelines are this replica's: see [Options.Ownership].
func (f *Fleet) Rebalance() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rebuild()
}

// rebuild makes the pipelines what the configuration and the folders of forEach say. f.mu is
// held.
func (f *Fleet) rebuild() {
	if f.ending {
		return
	}
	defs, doubles := f.effective()
	f.doubles = doubles
	refused := conflicts(defs)
	keys := shardKeys(defs)
	f.setLimits(defs)
	wanted := make(map[string]bool, len(defs))
	f.order = f.order[:0:0]
	for _, def := range defs {
		name := def.Metadata.Name
		wanted[name] = true
		p := f.pipelines[name]
		if p == nil {
			p = newPipeline(def)
			f.pipelines[name] = p
		}
		f.order = append(f.order, p)
		mine := def.Expand != nil || f.options.Ownership == nil || f.options.Ownership.Owns(keys[name])
		f.define(p, def, refused[name], keys[name], mine)
	}
	for name, p := range f.pipelines {
		if !wanted[name] {
			f.remove(p)
		}
	}
	for _, p := range f.order {
		f.review(p)
		f.consider(p)
	}
}

// effective are the definitions with those that were made of folders, each behind its pattern.
// Of one name the first counts; the others are reported. f.mu is held.
func (f *Fleet) effective() ([]*Definition, diag.List) {
	var out []*Definition
	var doubles diag.List
	origins := map[string]string{}
	add := func(def *Definition) {
		name := def.Metadata.Name
		if origin, ok := origins[name]; ok {
			doubles = append(doubles, diag.Diagnostic{
				Severity: diag.Error, Code: diag.PipelineConflict, File: def.Origin,
				Message: fmt.Sprintf("pipeline %s is defined by %s already, which runs", name, origin),
			})
			return
		}
		origins[name] = def.Origin
		out = append(out, def)
	}
	for _, def := range f.defs {
		add(def)
		pattern := f.pipelines[def.Metadata.Name]
		if def.Expand == nil || pattern == nil {
			continue
		}
		for _, child := range pattern.children {
			if def.Spec.Suspend && !child.Spec.Suspend {
				suspended := *child
				suspended.Spec.Suspend = true
				child = &suspended
			}
			add(child)
		}
	}
	return out, doubles
}

func pointers(defs []Definition) []*Definition {
	out := make([]*Definition, len(defs))
	for i := range defs {
		def := defs[i]
		out[i] = &def
	}
	return out
}

// conflicts says for each pipeline that cannot run beside one before it, why.
func conflicts(defs []*Definition) map[string]string {
	var writers []*Definition
	var outputs []*gitsync.Pipeline
	after := map[string][]string{}
	for _, def := range defs {
		if def.Expand == nil {
			writers, outputs = append(writers, def), append(outputs, &def.Pipeline)
			after[def.Metadata.Name] = def.Spec.Rollout.After
		}
	}
	refused := map[string]string{}
	for _, o := range gitsync.Overlaps(outputs) { // the second ones come in order
		first, second := writers[o.First], writers[o.Second].Metadata.Name
		if refused[first.Metadata.Name] != "" || refused[second] != "" {
			continue
		}
		what := "place"
		if o.SameArtifact {
			what = "artifact"
		}
		refused[second] = fmt.Sprintf("writes to the same %s as pipeline %s of %s, which comes first and runs", what, first.Metadata.Name, first.Origin)
	}
	for name, others := range after {
		if len(others) == 0 {
			continue
		}
		if found := circle(name, func(n string) []string { return after[n] }); found != nil {
			refused[name] = "rollout.after goes in a circle: " + strings.Join(found, ", ")
		}
	}
	return refused
}

// setLimits has a window for each rollout.maxPerMinute; those that there were go on. f.mu is
// held.
func (f *Fleet) setLimits(defs []*Definition) {
	next := map[int]*window{}
	for _, def := range defs {
		n := def.rollout().MaxPerMinute
		switch {
		case n <= 0 || next[n] != nil:
		case f.limits[n] != nil:
			next[n] = f.limits[n]
		default:
			next[n] = &window{max: n}
		}
	}
	f.limits = next
}

func newPipeline(def *Definition) *pipeline {
	p := &pipeline{}
	p.reset(def)
	return p
}

// reset forgets what was known of a pipeline, but not what it did last on somebody's request.
func (p *pipeline) reset(def *Definition) {
	p.def, p.trouble, p.waits, p.want = def, "", "", wish{}
	p.generation++
	p.last = lastPass{began: p.last.began}
	p.status = Status{
		Name: def.Metadata.Name, ForEach: def.Spec.ForEach,
		Conditions: p.status.Conditions, Pipelines: p.status.Pipelines, LastHandledReconcileAt: p.status.LastHandledReconcileAt,
		Sources: []SourceStatus{}, Units: []UnitStatus{}, Held: []HeldStatus{}, Findings: Findings{First: []Finding{}},
	}
	for _, src := range def.Spec.Sources {
		p.status.Sources = append(p.status.Sources, SourceStatus{URL: normalURL(src.URL), Ref: sourceRef(src).String()})
	}
	if out := def.Spec.Output; def.Expand == nil {
		p.status.Output = &OutputStatus{URL: normalURL(out.URL), Branch: out.Branch, Path: out.Path}
	}
}

// define gives a pipeline its definition. One that says the same, and may run as before, goes
// on; its functions are the new ones. f.mu is held.
func (f *Fleet) define(p *pipeline, def *Definition, refused, key string, mine bool) {
	same := reflect.DeepEqual(p.def.Pipeline, def.Pipeline) && (p.def.Expand == nil) == (def.Expand == nil)
	stays := same && !p.removed && p.refused == refused && p.mine == mine
	p.refused, p.mine, p.removed = refused, mine, false
	if !stays {
		f.detach(p)
		awaited := p.want.awaited()
		p.reset(def)
		if p.mayRun() {
			p.want = awaited
		}
		p.notBefore = p.last.began.Add(f.options.MinGap)
	}
	p.def = def
	p.status.Origin, p.status.Suspended, p.status.Owned, p.status.ShardKey = def.Origin, def.Spec.Suspend, mine, key
}

// remove stops a pipeline that is gone from the configuration, or whose folder is gone. Its
// branch stays. f.mu is held.
func (f *Fleet) remove(p *pipeline) {
	if !p.removed {
		p.removed = true
		f.detach(p)
		f.log.Info("pipeline removed, its branch stays", "pipeline", p.name(), "origin", p.def.Origin)
	}
	if !p.running { // else the end of its pass comes back
		delete(f.pipelines, p.name())
		f.news(p)
	}
}
