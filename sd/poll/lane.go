package poll

import (
	"container/heap"
	"time"
)

// lane is a queue of pods by due time, with a share of the workers.
type lane struct {
	pods     queue
	inFlight int
	limit    int
}

func (l *lane) push(p *pod) {
	p.lane = l
	heap.Push(&l.pods, p)
}

// remove takes a pod out unless it is in flight.
func (l *lane) remove(p *pod) {
	if p.index >= 0 {
		heap.Remove(&l.pods, p.index)
	}
}

// next takes out a pod that is due, if the lane may have one more in flight.
func (l *lane) next(now time.Time) *pod {
	if len(l.pods) == 0 || l.inFlight >= l.limit || l.pods[0].due.After(now) {
		return nil
	}
	p, _ := heap.Pop(&l.pods).(*pod)
	return p
}

// wake is when the lane has something to do, unless a poll ends before.
func (l *lane) wake() (time.Time, bool) {
	if len(l.pods) == 0 || l.inFlight >= l.limit {
		return time.Time{}, false
	}
	return l.pods[0].due, true
}

// queue implements [heap.Interface].
type queue []*pod

var _ heap.Interface = (*queue)(nil)

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	p, _ := x.(*pod)
	p.index = len(*q)
	*q = append(*q, p)
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	p.index = -1
	return p
}
