package fleet

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// window counts the pushes of the last minute: no minute, wherever it begins, has more of
// them than allowed.
type window struct {
	max      int
	pushed   []time.Time // within the last minute, in order
	underWay int         // passes that may push yet
}

// wait is how long the next pass must wait; busy says that it must wait until one that is
// under way has ended.
func (w *window) wait(now time.Time) (wait time.Duration, busy bool) {
	w.pushed = slices.DeleteFunc(w.pushed, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	switch {
	case len(w.pushed)+w.underWay < w.max:
		return 0, false
	case len(w.pushed) < w.max:
		return 0, true
	}
	return time.Minute - now.Sub(w.pushed[len(w.pushed)-w.max]), false
}

func (w *window) begin() { w.underWay++ }

func (w *window) end(now time.Time, pushed bool) {
	w.underWay--
	if pushed {
		w.pushed = append(w.pushed, now)
	}
}

// shardKeys names for each pipeline what replicas share the fleet by. Who knows whether others
// are good, or how many pushed, must run all of those: pipelines that rollout.after ties
// together, and those with the same maxPerMinute, have the name of the first of them.
func shardKeys(defs []*Definition) map[string]string {
	first := map[string]string{} // towards the first of the group
	root := func(name string) string {
		for first[name] != "" && first[name] != name {
			name = first[name]
		}
		return name
	}
	join := func(a, b string) {
		a, b = root(a), root(b)
		first[max(a, b)] = min(a, b)
	}
	limits := map[int]string{}
	for _, def := range defs {
		name := def.Metadata.Name
		for _, other := range def.rollout().After {
			join(name, other)
		}
		if n := def.rollout().MaxPerMinute; n > 0 {
			if other, ok := limits[n]; ok {
				join(name, other)
			}
			limits[n] = name
		}
	}
	keys := make(map[string]string, len(defs))
	for _, def := range defs {
		keys[def.Metadata.Name] = root(def.Metadata.Name)
	}
	return keys
}

// circle finds pipelines that wait for one another, beginning and ending with the given one.
func circle(name string, after func(string) []string) []string {
	seen := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		for _, next := range after(path[len(path)-1]) {
			if next == name {
				return append(path, name)
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if found := walk(append(path, next)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk([]string{name})
}

// awaits says which of the pipelines that go before p is not good yet, and why; empty when p
// may go. f.mu is held.
func (f *Fleet) awaits(p *pipeline) string {
	for _, name := range p.def.rollout().After {
		other := f.pipelines[name]
		switch {
		case other == nil || other.removed:
			return fmt.Sprintf("rollout.after names %s, which there is no pipeline of", name)
		case other.def.Spec.Suspend:
			return fmt.Sprintf("waits for %s, which is suspended", name)
		case !other.isReady():
			return fmt.Sprintf("waits for %s, which is not ready", name)
		}
		if commit := p.ahead(other); commit != "" {
			return fmt.Sprintf("waits for %s, which has not rendered %s yet", name, short(commit))
		}
	}
	return ""
}

// ahead is the commit of a source that both share and that p would render before other has.
func (p *pipeline) ahead(other *pipeline) string {
	for i := range p.def.Spec.Sources {
		src := &p.def.Spec.Sources[i]
		for n := range other.def.Spec.Sources {
			if !sameSource(src, &other.def.Spec.Sources[n]) || n >= len(other.status.Sources) {
				continue
			}
			if commit := p.at.next(src); commit != "" && commit != other.status.Sources[n].Commit {
				return commit
			}
		}
	}
	return ""
}

func sameSource(a, b *gitsync.Source) bool {
	return a.Ref == b.Ref && gitsync.RepositoryAddress(a.URL) == gitsync.RepositoryAddress(b.URL)
}

// short is a commit id as people write it.
func short(commit string) string {
	if len(commit) > 8 {
		return commit[:8]
	}
	return commit
}
