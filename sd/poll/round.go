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

// await begins a round that waits for these pods.
func (p *Poller) await(pods iter.Seq[*pod]) {
	for pod := range pods {
		pod.awaited = true
		p.waiting++
	}
}

// tried records that a pod was polled or is gone, so that the round no longer waits for it.
func (p *Poller) tried(pod *pod) {
	if !pod.awaited {
		return
	}
	pod.awaited = false
	if p.waiting--; p.waiting == 0 {
		p.options.Observer.Round()
	}
}

// nextRound begins another round. It does not wait for failing pods, which may not be polled for minutes.
func (p *Poller) nextRound(ctx context.Context) {
	if p.document.Load() == nil && !p.publishFirst(ctx) {
		return
	}
	p.await(slices.Values(p.healthy.pods))
}

// publishFirst publishes the first document and returns true, or returns false while it waits for other replicas.
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
	var pods []Pod
	for _, pod := range p.pods {
		if !pod.answered() {
			silent, pods = append(silent, pod), append(pods, pod.Pod)
		}
	}
	if len(silent) == 0 {
		return
	}
	p.recalling = true
	p.polls.Go(func() {
		answers := p.options.Recall(ctx, pods)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, pod := range silent {
			p.adopt(pod, answers[i])
		}
		p.recalling = false
		p.signal()
	})
}

// adopt uses the answer that a pod gave to another replica as its last good one, unless the pod answered in the
// meantime or the document has no room. The pod still counts as one that never answered, so that it is polled soon.
func (p *Poller) adopt(pod *pod, answer *merge.Fragment) {
	if pod.answered() || p.pods[pod.id()] != pod || p.size+answer.Size() > p.options.MaxDocument {
		return
	}
	pod.published, pod.answer = answer, answer
	p.size += answer.Size()
}

// publish builds the document of all pods.
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
