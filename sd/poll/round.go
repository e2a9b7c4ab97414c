package poll

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// await begins a round, which waits for these pods.
func (p *Poller) await(pods iter.Seq[*pod]) {
	for pod := range pods {
		pod.awaited = true
		p.waiting++
	}
}

// tried records that a pod was tried or is gone, so that the round no longer waits for it.
func (p *Poller) tried(pod *pod) {
	if !pod.awaited {
		return
	}
	pod.awaited = false
	if p.waiting--; p.waiting == 0 {
		p.options.Observer.Round()
	}
}

// nextRound begins a round after one that ended. It does not wait for failing pods, because these
// may not be tried for minutes.
func (p *Poller) nextRound(ctx context.Context) {
	if p.document.Load() == nil && !p.publishFirst(ctx) {
		return
	}
	p.await(slices.Values(p.healthy.pods))
}

// publishFirst publishes the first document and returns true, unless other replicas must answer
// before.
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

// startRecall asks other replicas for the last good answers of the pods that did not answer.
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

// adopt uses the answer that a pod gave to another replica as its last good one, unless the pod answered in the
// meantime or the document has no room. The pod still counts as one that never answered, so that it is tried soon.
func (p *Poller) adopt(pod *pod, said *merge.Fragment) {
	if pod.answered() || p.pods[pod.id()] != pod || p.size+said.Size() > p.options.MaxDocument {
		return
	}
	pod.published, pod.answer = said, said
	p.size += said.Size()
}

// publish builds a document of what all pods show.
func (p *Poller) publish(now time.Time) {
	if p.order == nil {
		p.order = slices.SortedFunc(maps.Values(p.pods), func(a, b *pod) int {
			return cmp.Or(a.Owner.Compare(b.Owner), a.Addr.Compare(b.Addr))
		})
	}
	entries := make([]merge.Entry, 0, len(p.order))
	for _, pod := range p.order {
		entries = append(entries, merge.Entry{Owner: pod.Owner, Addr: pod.Addr, Fragment: pod.published})
	}
	p.document.Store(merge.Build(entries))
	p.dirty, p.published = false, now
}
