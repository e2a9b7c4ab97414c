package poll

import (
	"container/heap"
	"time"
)

// queue holds pods in the order of their due times, and has a share of the workers.
type queue struct {
	pods     byDue
	inFlight int // polls that hold a worker
	limit    int // the most workers that polls may hold
}

func (q *queue) push(p *pod) {
	p.queue = q
	heap.Push(&q.pods, p)
}

// remove takes a pod out of the queue, unless it is being polled.
func (q *queue) remove(p *pod) {
	if p.index >= 0 {
		heap.Remove(&q.pods, p.index)
	}
}

// next takes a pod that is due out of the queue, if a worker is left for it.
func (q *queue) next(now time.Time) *pod {
	if len(q.pods) == 0 || q.inFlight >= q.limit || q.pods[0].due.After(now) {
		return nil
	}
	p, _ := heap.Pop(&q.pods).(*pod)
	return p
}

// nextDue returns the time at which the next pod is due, if a worker is left for it.
func (q *queue) nextDue() (time.Time, bool) {
	if len(q.pods) == 0 || q.inFlight >= q.limit {
		return time.Time{}, false
	}
	return q.pods[0].due, true
}

// byDue is a heap of pods; the first one is due first.
type byDue []*pod

var _ heap.Interface = (*byDue)(nil)

func (q byDue) Len() int           { return len(q) }
func (q byDue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

func (q byDue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements [heap.Interface].
func (q *byDue) Push(x any) {
	p, _ := x.(*pod)
	p.index = len(*q)
	*q = append(*q, p)
}

// Pop implements [heap.Interface].
func (q *byDue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	p.index = -1
	return p
}
