// Package poll asks integration pods what they run, again and again, and keeps the document of
// their last good answers.
//
// A pod is polled in the background, never because a consumer asks. It is new, good, empty (a
// good answer without targets) or failing (its last good answer is kept), until it is gone; the
// states are never confused, because a consumer drops what a short list lacks. Agents leave out
// an integration that is just restarting, so what vanishes from an answer stays for one more.
//
// Pods that never answered and pods that fail have lanes of their own, with a share of the
// workers and back-off, and a poll that is slow gives its worker back. So pods that hang cannot
// delay the others.
package poll

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// Fetcher asks the pod at an address. Errors other than [*Failure] count as broken connections.
type Fetcher interface {
	Fetch(ctx context.Context, addr netip.AddrPort, into *bytes.Buffer) error
}

// Observer is told about polls, for metrics.
type Observer interface {
	// Polled is told of each poll that ended; failure is empty for a good answer.
	Polled(took time.Duration, failure Reason)
	// Dropped is told of the groups that a good answer lost.
	Dropped(reason merge.Reason, groups int)
	// Round is told of each round that ended: the first, in which every pod is tried once, and
	// later those in which every pod is that answered before.
	Round()
}

// Options are the settings of a Poller. All but Recall must be set.
type Options struct {
	// Interval is the time between two polls of a pod that answers.
	Interval time.Duration
	// Timeout bounds a poll, FirstTimeout one of the first round, which consumers wait for.
	Timeout, FirstTimeout time.Duration
	// Workers are how many pods are polled at a time, and twice as many may be slow to answer.
	Workers int
	// Scheme is what the fetcher speaks.
	Scheme string
	// Limits bound the answer of a pod, MaxDocument the bytes of the document.
	Limits      merge.Limits
	MaxDocument int

	Fetcher  Fetcher
	Observer Observer
	Log      *slog.Logger
	// Recall returns, for each of the pods, what it said last to somebody else, nil if nobody
	// knows. It is asked once, after the first round, for the pods that did not answer.
	Recall func(ctx context.Context, pods []Pod) []*merge.Fragment
}

// MinWorkers is how few workers there may be: one for each lane, and one to spare.
const MinWorkers = 4

const (
	// patience is how long a poll holds a worker, unless it is in the lane of those that fail.
	patience = time.Second
	// slowPerWorker is how many polls there may be without a worker, for each worker.
	slowPerWorker = 2
)

// publishEvery is the shortest time between two documents.
const publishEvery = 100 * time.Millisecond

// Poller polls pods.
type Poller struct {
	options  Options
	origin   time.Time // that due times are counted from
	wake     chan struct{}
	document atomic.Pointer[merge.Document]
	buffers  sync.Pool
	polls    sync.WaitGroup

	mu   sync.Mutex
	pods map[id]*pod
	// order is that of the pods in the document, nil after some came or went.
	order []*pod
	// The lanes of pods that answer, of new ones and those that turned ready, and of the others.
	healthy, fresh, failing lane
	// slow is how many polls hold no worker any more.
	slow int
	// size is that of the document's fragments.
	size int
	// started is set by the first Set, waiting how many pods the round still waits for.
	started bool
	waiting int
	// recalled is set when Recall was asked, recalling until it answers.
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

// Document is the document of all last good answers. It is nil until the first round ended, in
// which each pod of the first Set was tried once.
func (p *Poller) Document() *merge.Document { return p.document.Load() }

// Waiting is how many pods the round still waits for; false before the first Set.
func (p *Poller) Waiting() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting, p.started
}

// Status is what is known of each pod, in no order.
func (p *Poller) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Status, 0, len(p.pods))
	for _, pod := range p.pods {
		out = append(out, pod.status())
	}
	return out
}

// Set says which pods there are. Pods that are not named are gone. The first Set begins the
// first round: call it when all pods are known.
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

// update notes what changed of a pod. One that turns ready is worth a try.
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
	known.lane.remove(known)
	known.due, known.failures = now, 0
	p.fresh.push(known)
}

func (p *Poller) remove(gone *pod) {
	delete(p.pods, gone.id())
	p.order = nil
	gone.lane.remove(gone)
	gone.cancel()
	p.tried(gone)
	p.size -= gone.shown.Size()
	p.dirty = p.dirty || gone.shown.Targets() > 0
	p.options.Log.Info("pod gone", "pod", gone.Name, "addr", gone.Addr, "agent", gone.Owner, "targets", gone.shown.Targets())
}

// await begins a round of these pods.
func (p *Poller) await(pods iter.Seq[*pod]) {
	for pod := range pods {
		pod.awaited = true
		p.waiting++
	}
}

// tried notes that a pod was tried, or is gone: the round does not wait for it any more.
func (p *Poller) tried(pod *pod) {
	if !pod.awaited {
		return
	}
	pod.awaited = false
	if p.waiting--; p.waiting == 0 {
		p.options.Observer.Round()
	}
}

// nextRound follows a round that ended, or one without pods. Pods that fail are not waited for,
// as they may not be tried for minutes.
func (p *Poller) nextRound(ctx context.Context) {
	if p.document.Load() == nil && !p.publishFirst(ctx) {
		return
	}
	p.await(slices.Values(p.healthy.pods))
}

// publishFirst publishes the first document, unless others must be asked before.
func (p *Poller) publishFirst(ctx context.Context) bool {
	if !p.recalled && p.options.Recall != nil {
		p.recalled = true
		p.startRecall(ctx)
	}
	if p.recalling {
		return false
	}
	p.fresh.limit = max(1, p.options.Workers/2)
	p.publish(time.Now())
	p.options.Log.Info("first round done", "pods", len(p.pods), "targets", p.document.Load().All().Targets())
	return true
}

// startRecall asks what the pods said last that did not answer.
func (p *Poller) startRecall(ctx context.Context) {
	var silent []*pod
	var asked []Pod
	for _, pod := range p.pods {
		if !pod.answered() {
			silent, asked = append(silent, pod), append(asked, pod.Pod)
		}
	}
	if len(silent) == 0 {
		return
	}
	p.recalling = true
	p.polls.Go(func() {
		said := p.options.Recall(ctx, asked)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, pod := range silent {
			p.adopt(pod, said[i])
		}
		p.recalling = false
		p.signal()
	})
}

// adopt takes what a pod said to somebody else for its last good answer, unless it answered in
// the meantime or there is no room. The pod goes on as one that never answered: it is tried soon.
func (p *Poller) adopt(pod *pod, said *merge.Fragment) {
	if pod.answered() || p.pods[pod.id()] != pod || p.size+said.Size() > p.options.MaxDocument {
		return
	}
	pod.shown, pod.answer = said, said
	p.size += said.Size()
}

func (p *Poller) publish(now time.Time) {
	if p.order == nil {
		p.order = slices.SortedFunc(maps.Values(p.pods), func(a, b *pod) int {
			return cmp.Or(a.Owner.Compare(b.Owner), a.Addr.Compare(b.Addr))
		})
	}
	entries := make([]merge.Entry, 0, len(p.order))
	for _, pod := range p.order {
		entries = append(entries, merge.Entry{Owner: pod.Owner, Addr: pod.Addr, Fragment: pod.shown})
	}
	p.document.Store(merge.Build(entries))
	p.dirty, p.published = false, now
}

// signal makes Run look again.
func (p *Poller) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run polls until ctx ends, and returns when no poll runs any more.
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

// step starts the polls that are due, begins rounds, publishes, and returns how long there is
// nothing to do.
func (p *Poller) step(ctx context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait := p.options.Interval
	for _, l := range p.lanes() {
		for p.busy() < p.options.Workers {
			due := l.next(now)
			if due == nil {
				break
			}
			p.start(ctx, l, due)
		}
		if due, ok := l.wake(); ok && p.busy() < p.options.Workers {
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

// lanes are in the order in which they get workers: those with small shares come first, so that
// pods that answer slowly leave them some, and a quarter is left for the pods that answer.
func (p *Poller) lanes() []*lane { return []*lane{&p.fresh, &p.failing, &p.healthy} }

func (p *Poller) busy() int { return p.healthy.inFlight + p.fresh.inFlight + p.failing.inFlight }

// start polls a pod that was taken out of a lane.
func (p *Poller) start(ctx context.Context, l *lane, due *pod) {
	l.inFlight++
	due.holds = l
	timeout := p.options.Timeout
	if p.document.Load() == nil {
		timeout = min(timeout, p.options.FirstTimeout)
	}
	ask := question{addr: due.Addr, owner: due.Owner, known: due.answered(), sum: due.sum}
	stop := context.AfterFunc(ctx, due.cancel)
	p.polls.Go(func() {
		defer stop()
		bounded, cancel := context.WithTimeout(due.ctx, timeout)
		defer cancel()
		impatient := time.AfterFunc(patience, func() { p.release(due) })
		begun := time.Now()
		a, failure := p.ask(bounded, ask)
		impatient.Stop()
		p.done(ctx, due, time.Since(begun), a, failure)
	})
}

// release takes its worker from a poll that is slow, which goes on without. Hundreds of pods may
// begin to hang at once, in the lanes of those that answer.
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

// done takes the result of a poll.
func (p *Poller) done(ctx context.Context, polled *pod, took time.Duration, a answer, failure *Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.signal()
	if polled.holds != nil {
		polled.holds.inFlight--
		polled.holds = nil
	} else {
		p.slow--
	}
	if ctx.Err() != nil || p.pods[polled.id()] != polled {
		return // We are ending, or the pod is gone.
	}
	now := time.Now()
	if failure == nil {
		failure = p.accept(now, polled, a)
	}
	if failure != nil {
		p.fail(now, polled, failure)
		p.options.Observer.Polled(took, failure.Reason)
	} else {
		p.options.Observer.Polled(took, "")
	}
	p.requeue(now, polled)
	p.tried(polled)
}

// requeue puts a pod into the lane of its state.
func (p *Poller) requeue(now time.Time, polled *pod) {
	hopeful := polled.stumbled() || polled.turned && polled.state == StateFailing
	polled.plan(now, p.origin, p.options.Interval)
	switch {
	case hopeful: // It must not queue behind pods that hang.
		p.fresh.push(polled)
	case polled.state == StateFailing:
		p.failing.push(polled)
	default:
		p.healthy.push(polled)
	}
}

// accept takes a good answer, unless the document has no room for it.
func (p *Poller) accept(now time.Time, polled *pod, a answer) *Failure {
	old := polled.shown.Size()
	if grown := a.fragment.Size() - old; grown > 0 && p.size+grown > p.options.MaxDocument {
		return failuref(ReasonDocumentFull, "the document would exceed %d bytes", p.options.MaxDocument)
	}
	was, lost := polled.state, dropped(polled.drops)
	p.dirty = polled.accept(now, a) || p.dirty
	p.size += polled.shown.Size() - old
	for _, d := range polled.drops {
		p.options.Observer.Dropped(d.Reason, d.Count)
	}
	p.tell(polled, was, lost)
	return nil
}

func dropped(drops []merge.Drop) (n int) {
	for _, d := range drops {
		n += d.Count
	}
	return n
}

// tell logs what changed with a good answer. Nothing did with most.
func (p *Poller) tell(polled *pod, was State, lost int) {
	lose := dropped(polled.drops)
	if was == polled.state && lose == lost {
		return
	}
	log := p.options.Log.With("pod", polled.Name, "addr", polled.Addr, "agent", polled.Owner)
	switch {
	case was == StateFailing:
		log.Info("pod answers again", "targets", polled.answer.Targets())
	case was == StateNew:
		log.Debug("pod answers", "targets", polled.answer.Targets())
	case was != polled.state:
		log.Info("pod changed", "state", polled.state, "targets", polled.answer.Targets())
	}
	if lose > 0 && lose != lost {
		log.Warn("groups of a pod dropped", "groups", lose, "reason", polled.drops[0].Reason, "example", polled.drops[0].Example)
	}
}

func (p *Poller) fail(now time.Time, polled *pod, failure *Failure) {
	was := polled.state
	polled.fail(now, failure)
	if was != StateFailing {
		p.options.Log.Warn("pod does not answer", "pod", polled.Name, "addr", polled.Addr, "agent", polled.Owner,
			"reason", failure.Reason, "err", failure, "kept", polled.shown.Targets())
	}
}
