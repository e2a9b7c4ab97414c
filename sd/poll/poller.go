// Package poll polls integration pods for their targets, and keeps the document of their last good answers.
//
// Pods are polled in the background, never because a consumer asks. A pod is new, good, empty (its
// good answer has no targets) or failing (its last good answer is kept) until it is gone. These
// states must not be confused, because a consumer drops the targets that a list lacks. Agents leave
// out an integration that is restarting, so a target that an answer lacks is kept until the next one.
//
// Pods that never answered and pods that fail have queues of their own, with a share of the workers
// and with back-off, and a slow poll gives its worker back. So pods that hang do not delay others.
package poll

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// Fetcher reads the answer of the pod at an address. An error other than a [*Failure] counts as a broken connection.
type Fetcher interface {
	Fetch(ctx context.Context, addr netip.AddrPort, into *bytes.Buffer) error
}

// Observer counts polls, for metrics.
type Observer interface {
	// Polled is called after each poll; failure is empty after a good answer.
	Polled(took time.Duration, failure Reason)
	// Dropped is called for the dropped groups of a good answer.
	Dropped(reason merge.Reason, groups int)
	// Round is called at the end of a round. The first round polls every pod once, each later one every pod that
	// answered before.
	Round()
}

// Options are the settings of a Poller. All but Recall must be set.
type Options struct {
	// Interval is the time between two polls of a pod that answers.
	Interval time.Duration
	// Timeout bounds a poll, FirstTimeout a poll of the first round, which consumers wait for.
	Timeout, FirstTimeout time.Duration
	// Workers is the number of pods polled at a time. Twice as many slow polls may run besides.
	Workers int
	// Scheme is http or https, as the fetcher uses.
	Scheme string
	// Limits bound the answer of a pod, MaxDocument bounds the bytes of the document.
	Limits      merge.Limits
	MaxDocument int

	Fetcher  Fetcher
	Observer Observer
	Log      *slog.Logger
	// Recall returns the last good answer of each pod to another replica, or nil. It is called once, after the first
	// round, for the pods that did not answer.
	Recall func(ctx context.Context, pods []Pod) []*merge.Fragment
}

// MinWorkers is the minimum of Workers: one for each queue, and one to spare.
const MinWorkers = 4

const (
	// workerTime is the longest time for which a poll holds a worker. Polls of failing pods hold theirs to the end.
	workerTime = time.Second
	// slowPerWorker is the number of polls, per worker, that may go on without a worker.
	slowPerWorker = 2
)

// publishEvery is the shortest time between two documents.
const publishEvery = 100 * time.Millisecond

// Poller polls pods.
type Poller struct {
	options  Options
	origin   time.Time // due times are counted from it
	wake     chan struct{}
	document atomic.Pointer[merge.Document]
	buffers  sync.Pool
	polls    sync.WaitGroup

	mu   sync.Mutex
	pods map[id]*pod
	// order has the pods in the order of the document. It is nil if it must be made again.
	order []*pod
	// The queues of pods that answer, of new pods and pods that became ready, and of failing pods.
	healthy, fresh, failing queue
	// slow is the number of polls that gave their worker back.
	slow int
	// size is the sum of the sizes of the document's fragments.
	size int
	// started is set by the first Set. waiting is the number of pods that the round still waits for.
	started bool
	waiting int
	// recalled is set once Recall has been called, recalling until it returns.
	recalled, recalling bool
	dirty               bool
	published           time.Time
}

// New makes a poller. It polls while Run runs.
func New(options Options) *Poller {
	p := &Poller{options: options, origin: time.Now(), wake: make(chan struct{}, 1), pods: map[id]*pod{}}
	p.buffers.New = func() any { return new(bytes.Buffer) }
	p.healthy.limit, p.fresh.limit, p.failing.limit = options.Workers, options.Workers, options.Workers/4
	return p
}

// Document returns the document of all last good answers. It is nil until the end of the first round, in which each pod
// of the first Set is polled once.
func (p *Poller) Document() *merge.Document { return p.document.Load() }

// Waiting returns the number of pods that the round still waits for, and false before the first Set.
func (p *Poller) Waiting() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting, p.started
}

// Status returns the state of each pod, in any order.
func (p *Poller) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Status, 0, len(p.pods))
	for _, pod := range p.pods {
		out = append(out, pod.status())
	}
	return out
}

// Set replaces the list of pods, and forgets the pods that are not in it. The first call begins the first round, so
// make it when all pods are known.
func (p *Poller) Set(pods []Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	listed := make(map[id]bool, len(pods))
	for _, pod := range pods {
		listed[pod.id()] = true
		if known, ok := p.pods[pod.id()]; ok {
			p.update(now, known, pod)
		} else {
			p.add(now, pod)
		}
	}
	for id, pod := range p.pods {
		if !listed[id] {
			p.remove(pod)
		}
	}
	if !p.started {
		p.started = true
		p.await(maps.Values(p.pods))
	}
	p.signal()
}

func (p *Poller) add(now time.Time, new Pod) {
	added := &pod{Pod: new, state: StateNew, since: now, due: now}
	added.ctx, added.cancel = context.WithCancel(context.Background())
	p.pods[new.id()], p.order = added, nil
	p.fresh.push(added)
	p.options.Log.Debug("pod found", "pod", new.Name, "addr", new.Addr, "agent", new.Owner)
}

// update records the changes of a pod. A pod that became ready is polled soon.
func (p *Poller) update(now time.Time, known *pod, pod Pod) {
	turned := pod.Ready && !known.Ready
	known.Pod = pod
	if !turned || known.answered() && known.state != StateFailing {
		return
	}
	if known.index < 0 {
		known.turned = true
		return
	}
	known.queue.remove(known)
	known.due, known.failures = now, 0
	p.fresh.push(known)
}

func (p *Poller) remove(gone *pod) {
	delete(p.pods, gone.id())
	p.order = nil
	gone.queue.remove(gone)
	gone.cancel()
	p.tried(gone)
	p.size -= gone.published.Size()
	p.dirty = p.dirty || gone.published.Targets() > 0
	p.options.Log.Info("pod gone", "pod", gone.Name, "addr", gone.Addr, "agent", gone.Owner, "targets",
		gone.published.Targets())
}

// signal wakes Run.
func (p *Poller) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run polls until ctx ends, and returns after the last poll has ended.
func (p *Poller) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(p.step(ctx))
		select {
		case <-ctx.Done():
			p.polls.Wait()
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// step starts the polls that are due, begins rounds and publishes. It returns the time until there is more to do.
func (p *Poller) step(ctx context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait := p.options.Interval
	for _, q := range p.queues() {
		for p.busy() < p.options.Workers {
			due := q.next(now)
			if due == nil {
				break
			}
			p.start(ctx, q, due)
		}
		if due, ok := q.nextDue(); ok && p.busy() < p.options.Workers {
			wait = min(wait, due.Sub(now))
		}
	}
	if p.started && p.waiting == 0 {
		p.nextRound(ctx)
	}
	if p.dirty && p.document.Load() != nil {
		if rest := p.published.Add(publishEvery).Sub(now); rest > 0 {
			return min(wait, rest)
		}
		p.publish(now)
	}
	return wait
}

// queues returns the queues in the order in which they get workers. The queues with small shares come first, so that
// pods that answer slowly do not take their workers.
func (p *Poller) queues() []*queue { return []*queue{&p.fresh, &p.failing, &p.healthy} }

// busy returns the number of workers in use.
func (p *Poller) busy() int { return p.healthy.inFlight + p.fresh.inFlight + p.failing.inFlight }
