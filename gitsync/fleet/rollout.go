package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// pushLimiter counts the pushes of the last minute, so that no 60 seconds have more of them than max.
type pushLimiter struct {
	max      int         // 0: any number
	pushed   []time.Time // within the last minute, in order
	underWay int         // passes that may push yet
}

// limiters returns a limiter for each rollout.maxPerMinute. It keeps the limiters in before.
func limiters(defs []*Definition, before map[int]*pushLimiter) map[int]*pushLimiter {
	next := map[int]*pushLimiter{}
	for _, def := range defs {
		n := def.rollout().MaxPerMinute
		next[n] = cmp.Or(next[n], before[n], &pushLimiter{max: n})
	}
	return next
}

// wait returns how long the next pass must wait. busy means that it must wait for the end of a running pass.
func (l *pushLimiter) wait(now time.Time) (wait time.Duration, busy bool) {
	l.pushed = slices.DeleteFunc(l.pushed, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	switch {
	case l.max == 0 || len(l.pushed)+l.underWay < l.max:
		return 0, false
	case len(l.pushed) < l.max:
		return 0, true
	}
	return time.Minute - now.Sub(l.pushed[len(l.pushed)-l.max]), false
}

// turn returns why the next pass must wait, and for how long; 0 means until another pass has ended.
func (l *pushLimiter) turn(now time.Time) (reason string, wait time.Duration) {
	wait, busy := l.wait(now)
	if busy || wait > 0 {
		reason = fmt.Sprintf("waits for its turn: rollout.maxPerMinute is %d", l.max)
	}
	return reason, wait
}

func (l *pushLimiter) begin() { l.underWay++ }

func (l *pushLimiter) end(now time.Time, pushed bool) {
	l.underWay--
	if pushed {
		l.pushed = append(l.pushed, now)
	}
}

// awaited returns why p has to wait for a pipeline of rollout.after, or "".
func (p *runner) awaited(v view, all map[string]*runner) string {
	for _, name := range p.def.rollout().After {
		other := all[name]
		switch {
		case other == nil || other.removed:
			return fmt.Sprintf("rollout.after names %s, but there is no such pipeline", name)
		case other.def.Spec.Suspend:
			return fmt.Sprintf("waits for %s, which is suspended", name)
		case !other.status.isReady():
			return fmt.Sprintf("waits for %s, which is not ready", name)
		}
		if commit := p.ahead(other, v); commit != "" {
			return fmt.Sprintf("waits for %s, which has not rendered %s yet", name, short(commit))
		}
	}
	return ""
}

// ahead returns the commit that p would render before other has rendered it, of a source that both read.
func (p *runner) ahead(other *runner, v view) string {
	for i := range p.def.Spec.Sources {
		src := &p.def.Spec.Sources[i]
		for n := range other.def.Spec.Sources {
			if !src.SameRef(other.def.Spec.Sources[n]) || n >= len(other.status.Sources) {
				continue
			}
			if commit := v.commit(src); commit != "" && commit != other.status.Sources[n].Commit {
				return commit
			}
		}
	}
	return ""
}

// short returns an abbreviated commit id.
func short(commit string) string {
	if len(commit) > 8 {
		return commit[:8]
	}
	return commit
}
