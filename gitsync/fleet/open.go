package fleet

import "time"

// open opens pipelines.
func (f *Fleet) open(openings []opening) {
	keep := f.keepBytes()
	for i := range openings {
		openings[i].run(f.backend, keep, f.workers, f.log)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range openings {
		f.opened(o)
	}
	f.remotes.plan()
	for _, o := range openings {
		f.schedule(o.pipeline)
	}
}

// keepBytes returns how many bytes of objects a pipeline keeps that it can read again: an equal share of a quarter of
// what all may keep, so that it need not be evicted for them.
func (f *Fleet) keepBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.options.MemoryBytes / 4 / int64(max(len(f.pipelines), 1))
}

// opened gives the instance to its pipeline, or closes it if the pipeline has changed since. f.mu is
// held.
func (f *Fleet) opened(o opening) {
	p := o.pipeline
	p.phase = phaseIdle
	switch {
	case p.generation != o.generation || !p.mayRun() || !f.isRunning():
		if o.err == nil {
			f.busy.Go(func() { o.instance.close() })
		}
	case o.err != nil:
		p.notBefore = time.Now().Add(jittered(p.def.interval(), f.options.Jitter, f.backend.random))
		p.problem = o.err.Error()
		f.review(p)
	default:
		p.instance, p.problem = o.instance, ""
		f.remotes.join(p.instance, p.def)
		p.ask(request{reason: ReasonStart}, f.options.MinGap)
		f.review(p)
	}
}

// detach closes a pipeline's instance. f.mu is held.
func (f *Fleet) detach(p *runner) {
	p.alarm.stop()
	if p.instance == nil {
		return
	}
	inst := p.instance
	p.instance = nil
	f.remotes.leave(inst)
	f.memory.drop(inst)
	f.busy.Go(func() { inst.close() })
}

// renew reads the credentials of a remote's users again before its round, as files may have changed.
func (f *Fleet) renew(r *remote, users []*instance) {
	for _, inst := range users {
		if !inst.use.tryTake() {
			continue // in a pass; the next round will do
		}
		f.mu.Lock()
		def := inst.pipeline.def
		f.mu.Unlock()
		err := inst.renew(def, f.log)
		f.mu.Lock()
		if inst.pipeline.instance == inst {
			f.renewed(inst, r, err)
		}
		inst.use.give()
		f.schedule(inst.pipeline)
		f.mu.Unlock()
	}
}

// renewed applies new credentials. With others, an instance may have other remotes. Its place of use is
// taken, and the round of r is about to begin. f.mu is held.
func (f *Fleet) renewed(inst *instance, r *remote, err error) {
	p := inst.pipeline
	if err != nil {
		p.problem = err.Error()
		f.review(p)
		return
	}
	moved := f.remotes.hasMoved(inst)
	if !moved && p.problem == "" {
		return
	}
	if moved {
		f.remotes.leave(inst)
		f.remotes.join(inst, p.def)
		inst.tried = nil
	}
	p.problem = ""
	f.remotes.ask(inst, "", ReasonPoll, r)
	f.remotes.plan()
	p.ask(request{reason: ReasonStart, asked: time.Now()}, f.options.MinGap)
	f.review(p)
}

// roundEnded asks for passes of the remote's users if a ref has moved. Health says that the remote fails,
// or has recovered.
func (f *Fleet) roundEnded(users []*instance, reason string, health bool) {
	f.memory.roundEnded()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, inst := range users {
		p := inst.pipeline
		if p.instance != inst {
			continue
		}
		sources, output := f.remotes.look(inst).moved(inst.tried)
		if sources || output && p.phase != phasePassing { // the end of a pass knows whether it moved its output itself
			p.ask(request{reason: reason}, f.options.MinGap)
		}
		f.schedule(p)
		if health {
			f.review(p)
		}
	}
}
