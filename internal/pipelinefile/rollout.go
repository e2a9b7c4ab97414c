package pipelinefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// rolloutFault is a pipeline that waits for one that never becomes ready.
type rolloutFault struct {
	at      int   // the pipeline's index
	circle  []int // the pipelines that wait for each other; empty if it waits for an unknown one
	problem diag.Diagnostic
}

// rolloutFaults returns pipelines that wait for each other in a circle or, if the fleet is complete, for
// unknown pipelines. Templates are not checked before they are expanded, and every name that a template can
// give counts as known.
func rolloutFaults(fleet []*Pipeline, complete bool) []rolloutFault {
	r := rollouts{fleet: fleet, byName: map[string]int{}, state: make([]visit, len(fleet))}
	for i, p := range fleet {
		if p.each == nil {
			r.byName[p.Metadata.Name] = i
		}
	}
	for i := range fleet {
		r.walk(i)
	}
	if complete {
		r.unknown()
	}
	return r.found
}

// rollouts follows which pipeline waits for which. It visits each pipeline once.
type rollouts struct {
	fleet  []*Pipeline
	byName map[string]int
	state  []visit
	way    []int // from the start of the walk to the current pipeline
	found  []rolloutFault
}

type visit int

const (
	unseen visit = iota
	onTheWay
	left
)

func (r *rollouts) walk(at int) {
	if r.fleet[at].each != nil || r.state[at] != unseen {
		return
	}
	r.state[at] = onTheWay
	r.way = append(r.way, at)
	for n, name := range r.fleet[at].Spec.Rollout.After {
		next, known := r.byName[name]
		switch {
		case !known:
		case r.state[next] == onTheWay:
			r.circle(at, n, next)
		default:
			r.walk(next)
		}
	}
	r.way = r.way[:len(r.way)-1]
	r.state[at] = left
}

// circle reports that the walk has returned to a pipeline on its way.
func (r *rollouts) circle(at, n, back int) {
	members := slices.Clone(r.way[slices.Index(r.way, back):])
	names := make([]string, 0, len(members)+1)
	for _, i := range append(members, back) {
		names = append(names, r.fleet[i].Metadata.Name)
	}
	r.found = append(r.found, rolloutFault{at: at, circle: members, problem: diag.Diagnostic{
		Path: afterPath(n), Message: "waits in a circle: " + strings.Join(names, " after "),
	}})
}

func (r *rollouts) unknown() {
	names := slices.Sorted(maps.Keys(r.byName))
	for i, p := range r.fleet {
		if p.each != nil {
			continue
		}
		for n, name := range p.Spec.Rollout.After {
			if _, known := r.byName[name]; known || r.isPossible(name) {
				continue
			}
			r.found = append(r.found, rolloutFault{at: i, problem: diag.Diagnostic{
				Path:    afterPath(n),
				Message: fmt.Sprintf("no pipeline has the name %q", name), Hint: diag.DidYouMean(name, names),
			}})
		}
	}
}

// isPossible reports whether a template can have a pipeline with that name.
func (r *rollouts) isPossible(name string) bool {
	return slices.ContainsFunc(r.fleet, func(p *Pipeline) bool { return p.each != nil && p.each.canName(name) })
}

func afterPath(n int) string { return fmt.Sprintf("spec.rollout.after[%d]", n) }
