package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// settleTimeout is the time that the replicas have to settle, on a busy machine.
	settleTimeout = 5 * time.Minute
	settlePoll    = 250 * time.Millisecond
)

// check ends the faults, waits, and asks the oracle: first for the inputs as they are, then with all objects repaired.
func (w *testbed) check(ctx context.Context, last bool) error {
	if err := w.calm(); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"with faulty objects", w.settle},
		{"the oracle, with faulty objects", func(ctx context.Context) error { return w.ask(ctx, false) }},
		{"starting afresh", w.startAfresh},
		{"repair", w.repair},
		{"the oracle, with all objects right", func(ctx context.Context) error { return w.ask(ctx, true) }},
		{"starting afresh", func(ctx context.Context) error {
			if !last {
				return nil
			}
			return w.startAfresh(ctx)
		}},
	} {
		w.events.say("check: %s", step.what)
		if err := errors.Join(step.do(ctx), w.failure()); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// repair repairs all inputs, and merges the resulting proposals.
func (w *testbed) repair(ctx context.Context) error {
	for _, a := range w.authors {
		if err := a.repair(); err != nil {
			return err
		}
	}
	for {
		if err := w.settle(ctx); err != nil {
			return err
		}
		if merged, err := w.actors.mergeAll(); err != nil || !merged {
			return err
		}
	}
}

// startAfresh restarts all replicas without caches, and checks that they find nothing to do.
func (w *testbed) startAfresh(ctx context.Context) error {
	if err := w.stop(); err != nil {
		return err
	}
	before, err := w.allRefs()
	if err != nil {
		return err
	}
	for _, r := range w.replicas {
		if err := empty(r.cache); err != nil {
			return err
		}
		if err := r.start(); err != nil {
			return err
		}
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	after, err := w.allRefs()
	if err != nil {
		return err
	}
	for name, value := range after {
		if before[name] != value {
			err = errors.Join(err, fmt.Errorf("%s was settled at %s, and replicas without caches moved it to %s", name,
				before[name], value))
		}
	}
	return err
}

// allRefs returns the refs of all remotes.
func (w *testbed) allRefs() (map[string]string, error) {
	out := map[string]string{}
	for _, r := range w.repos {
		refs, err := r.refs()
		if err != nil {
			return nil, err
		}
		for name, value := range refs {
			out[key(r, name)] = value
		}
	}
	return out, nil
}

// settle waits until all replicas report that they rendered the heads, and no ref moves.
func (w *testbed) settle(ctx context.Context) error {
	began := time.Now()
	var why error
	for end := began.Add(settleTimeout); time.Now().Before(end) && ctx.Err() == nil && w.failure() == nil; {
		before, err := w.allRefs()
		if err != nil {
			return err
		}
		if why = w.settled(ctx, before); why != nil {
			pause(ctx, settlePoll)
			continue
		}
		pause(ctx, w.still)
		after, err := w.allRefs()
		if err != nil {
			return err
		}
		if maps.Equal(before, after) && w.settled(ctx, after) == nil {
			w.events.say("settled after %s", time.Since(began).Round(time.Millisecond))
			return nil
		}
		why = errors.New("refs still move")
	}
	if why == nil {
		return ctx.Err()
	}
	return fmt.Errorf("never settled: %w", why)
}

// settled returns an error that says what is still missing.
func (w *testbed) settled(ctx context.Context, refs map[string]string) error {
	missing := make([]error, len(w.replicas))
	var all sync.WaitGroup
	for i, r := range w.replicas {
		all.Go(func() {
			status, problems, err := r.status(ctx)
			if err == nil && len(problems) > 0 {
				err = fmt.Errorf("replica %d: the configuration has a problem: %s", r.n, problems[0].Message)
			}
			for _, p := range w.running() {
				if err == nil {
					err = w.hasRendered(r, p, status[p.name], refs)
				}
			}
			missing[i] = err
		})
	}
	all.Wait()
	return errors.Join(missing...)
}

// running returns the existing pipelines, including those that forEach makes.
func (w *testbed) running() []*pipeline {
	var out []*pipeline
	for _, p := range w.config.pipelines {
		if !p.forEach {
			out = append(out, p)
			continue
		}
		for _, folder := range folders(w.authors[p.sources[0].remote].now(), fleetDir) {
			out = append(out, p.of(folder))
		}
	}
	return out
}

// hasRendered returns an error that says what a replica still has to do for a pipeline.
func (w *testbed) hasRendered(r *replica, p *pipeline, s fleet.Status, refs map[string]string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("replica %d, pipeline %s: %s", r.n, p.name, fmt.Sprintf(format, args...))
	}
	if len(s.Sources) != len(p.sources) || s.Output == nil {
		return wrong("has no state yet: %v", s.Conditions)
	}
	for i, source := range p.sources {
		if head := w.authors[source.remote].head(); s.Sources[i].Commit != head || s.Sources[i].Stale {
			return wrong("source %d is at %s (stale: %v), its head is %s", i, s.Sources[i].Commit, s.Sources[i].Stale,
				head)
		}
	}
	if tip := refs[key(w.repos[p.output], p.ref())]; s.Output.Commit != tip {
		return wrong("the output is %s, the branch is at %s", s.Output.Commit, tip)
	}
	if s.Failures > 0 || meta.IsStatusConditionTrue(s.Conditions, fluxmeta.ReconcilingCondition) {
		return wrong("is not done: %d failures, %v", s.Failures, s.Conditions)
	}
	return nil
}

// areReady checks that all replicas report all pipelines as ready.
func (w *testbed) areReady(ctx context.Context) error {
	for _, r := range w.replicas {
		status, _, err := r.status(ctx)
		if err != nil {
			return err
		}
		for _, p := range w.running() {
			if s := status[p.name]; !meta.IsStatusConditionTrue(s.Conditions, fluxmeta.ReadyCondition) ||
				len(s.Held) > 0 {
				var found []string
				for _, f := range s.Findings.First {
					found = append(found, f.String())
				}
				return fmt.Errorf("replica %d: %s is not ready though all objects are right: %v\n%s", r.n, p.name,
					s.Conditions, strings.Join(found, "\n"))
			}
		}
	}
	return nil
}
