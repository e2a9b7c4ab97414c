package poll

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// request is a copy of the data of a pod that a poll needs, so that it needs no lock.
type request struct {
	addr  netip.AddrPort
	owner merge.Owner
	known bool              // whether sum is set
	sum   [sha256.Size]byte // of the last good answer
}

// answer is a good answer of a pod.
type answer struct {
	unchanged bool // since the last good answer; if so, nothing else is set
	fragment  *merge.Fragment
	drops     []merge.Drop
	sum       [sha256.Size]byte
}

// start polls a pod that was taken from a queue.
func (p *Poller) start(ctx context.Context, from *queue, due *pod) {
	from.inFlight++
	due.holds = from
	timeout := p.options.Timeout
	if p.document.Load() == nil {
		timeout = min(timeout, p.options.FirstTimeout)
	}
	ask := request{addr: due.Addr, owner: due.Owner, known: due.answered(), sum: due.sum}
	stop := context.AfterFunc(ctx, due.cancel)
	p.polls.Go(func() {
		defer stop()
		bounded, cancel := context.WithTimeout(due.ctx, timeout)
		defer cancel()
		impatient := time.AfterFunc(workerTime, func() { p.release(due) })
		begun := time.Now()
		a, failure := p.ask(bounded, ask)
		impatient.Stop()
		p.done(ctx, due, time.Since(begun), a, failure)
	})
}

// release frees the worker of a slow poll, which goes on without one. Otherwise hundreds of healthy pods that begin to
// hang at the same time would hold all workers.
func (p *Poller) release(polled *pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if polled.holds == nil || polled.holds == &p.failing || p.slow >= slowPerWorker*p.options.Workers {
		return
	}
	polled.holds.inFlight--
	polled.holds = nil
	p.slow++
	p.signal()
}

// ask sends the request to the pod and reads its answer.
func (p *Poller) ask(ctx context.Context, q request) (answer, *Failure) {
	body, _ := p.buffers.Get().(*bytes.Buffer)
	defer func() {
		if body.Cap() <= maxKeptBuffer {
			p.buffers.Put(body)
		}
	}()
	body.Reset()
	if err := p.options.Fetcher.Fetch(ctx, q.addr, body); err != nil {
		if f, ok := errors.AsType[*Failure](err); ok {
			return answer{}, f
		}
		return answer{}, &Failure{ReasonBroken, err}
	}
	sum := sha256.Sum256(body.Bytes())
	if q.known && sum == q.sum {
		return answer{unchanged: true}, nil
	}
	fragment, drops, err := merge.Parse(body.Bytes(),
		merge.Source{Owner: q.owner, Addr: q.addr, Scheme: p.options.Scheme}, p.options.Limits)
	switch {
	case errors.Is(err, merge.ErrTooManyGroups):
		return answer{}, &Failure{ReasonTooManyGroups, err}
	case err != nil:
		return answer{}, &Failure{ReasonMalformed, err}
	}
	return answer{fragment: fragment, drops: drops, sum: sum}, nil
}
