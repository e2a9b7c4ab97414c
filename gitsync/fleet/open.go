package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// open prepares a pipeline, together with all others that are to be opened now, so that the
// first round of their remotes knows all of them. f.mu is held.
func (f *Fleet) open(p *pipeline) {
	p.opening = true
	f.toOpen = append(f.toOpen, p)
	if len(f.toOpen) == 1 {
		f.spawn(f.openAll)
	}
}

func (f *Fleet) openAll() {
	f.mu.Lock()
	batch := f.toOpen
	f.toOpen = nil
	openings := make([]opening, len(batch))
	for i, p := range batch {
		openings[i] = opening{pipeline: p, def: p.def, generation: p.generation}
	}
	f.mu.Unlock()
	for i := range openings {
		f.openOne(&openings[i])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range openings {
		f.opened(o)
	}
	f.planAll()
}

// opening is a pipeline that is being opened.
type opening struct {
	pipeline   *pipeline
	def        *Definition
	generation int
	at         *instance
	err        error
}

// openOne opens a pipeline. It contacts nobody.
func (f *Fleet) openOne(o *opening) {
	defer func() {
		if v := recover(); v != nil {
			o.err = f.panicked("opening", o.def.Metadata.Name, v)
		}
	}()
	creds, err := o.def.Credentials()
	if err != nil {
		o.err = fmt.Errorf("credentials: %w", err)
		return
	}
	o.at = &instance{use: newSlots(1)}
	if o.def.Expand != nil {
		o.at.passer, o.err = f.engine.expand(o.def, creds, func(made []Definition) {
			f.expanded(o.def.Metadata.Name, o.generation, made)
		})
		return
	}
	o.at.passer, o.err = f.engine.open(o.def, creds, func(ctx context.Context) (func(), error) { return f.enter(ctx, o.at) })
}

// opened makes an instance the pipeline's, or gives it up if it came too late. f.mu is held.
func (f *Fleet) opened(o opening) {
	p := o.pipeline
	p.opening = false
	switch {
	case p.generation != o.generation || !p.mayRun() || !f.isRunning():
		if o.err == nil {
			f.close(o.at)
		}
	case o.err != nil:
		p.notBefore = time.Now().Add(jittered(p.interval(), f.options.Jitter, f.engine.random))
		f.troubled(p, o.err)
	default:
		p.at, p.trouble = o.at, ""
		f.join(p, p.at)
		f.wants(p, wish{reason: ReasonStart})
		f.review(p)
	}
	f.consider(p)
}

// troubled notes why a pipeline cannot run. f.mu is held.
func (f *Fleet) troubled(p *pipeline, err error) {
	p.trouble = err.Error()
	f.review(p)
}

// detach takes a pipeline's instance away; it is closed when nobody uses it. f.mu is held.
func (f *Fleet) detach(p *pipeline) {
	p.alarm.stop()
	delete(f.waiting, p)
	if p.at == nil {
		return
	}
	at := p.at
	p.at = nil
	f.leave(p, at)
	f.resize(at, 0)
	f.close(at)
}

// close closes an instance when a pass or a round that uses it is done with it. f.mu is held.
func (f *Fleet) close(at *instance) {
	f.spawn(func() {
		_ = at.use.take(context.WithoutCancel(f.passes)) // every pass ends
		if err := at.Close(); err != nil {
			f.log.Warn("close pipeline", "err", err)
		}
	})
}

// refresh gives the members of a remote their credentials, as the files may have changed.
func (f *Fleet) refresh(r *remote) {
	type one struct {
		p   *pipeline
		at  *instance
		def *Definition
	}
	var all []one
	f.mu.Lock()
	for p := range r.members {
		all = append(all, one{p, p.at, p.def})
	}
	f.mu.Unlock()
	for _, o := range all {
		if !o.at.use.tryTake() {
			continue // a pass is under way; the next round will do
		}
		err := f.renew(o.at, o.def)
		f.mu.Lock()
		o.at.use.give()
		if o.p.at == o.at {
			f.renewed(o.p, r, err)
			f.consider(o.p)
		}
		f.mu.Unlock()
	}
}

// renew gives an instance its credentials.
func (f *Fleet) renew(at *instance, def *Definition) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = f.panicked("renewal of credentials", def.Metadata.Name, v)
		}
	}()
	creds, err := def.Credentials()
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return at.SetCredentials(creds)
}

// renewed takes note of new credentials: with others, an instance may have other remotes. The
// round of r is about to begin. f.mu is held.
func (f *Fleet) renewed(p *pipeline, r *remote, err error) {
	if err != nil {
		f.troubled(p, err)
		return
	}
	if moved := p.at.hasOtherRemotes(); moved || p.trouble != "" {
		if moved {
			f.leave(p, p.at)
			f.join(p, p.at)
			p.at.tried = nil
		}
		p.trouble = ""
		for _, m := range p.at.members {
			if m.remote != r {
				m.remote.ask(ReasonPoll)
			}
		}
		f.planAll()
		f.wants(p, wish{reason: ReasonStart, asked: time.Now()})
		f.review(p)
	}
}

// hasOtherRemotes reports whether the passer uses other repositories than it did.
func (at *instance) hasOtherRemotes() bool {
	return !slices.EqualFunc(at.Refs(), at.members, func(refs gitsync.RemoteRefs, m member) bool { return refs.Repo == m.remote.repo })
}
