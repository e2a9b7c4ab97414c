package repobrowser

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/panics"
)

const (
	// maxKept limits the changes that are kept.
	maxKept = 50
	// maxWaiting limits the changes that wait to be computed.
	maxWaiting = 20
	// patience limits the time that a request waits for a change.
	patience = 10 * time.Second
)

// changes computes changes one at a time, and keeps the latest, because pages ask for them repeatedly.
type changes struct {
	log  *slog.Logger
	turn chan struct{} // has room for one value; the sender may compute

	mu   sync.Mutex
	kept []*answer // least recently used first
}

// key identifies a change. Pipelines can share a branch, and see different changes in a commit.
type key struct{ pipeline, commit string }

// answer is a change that is known once done is closed.
type answer struct {
	key
	done   chan struct{}
	change *Change
	err    error
}

func newChanges(log *slog.Logger) *changes { return &changes{log: log, turn: make(chan struct{}, 1)} }

// get returns a change, and computes it unless it is known. Either compute or instead is called eventually, once.
func (c *changes) get(k key, compute func() (*Change, error), instead func()) (*Change, *explainers.Refusal) {
	a, isNew := c.answer(k)
	switch {
	case a == nil:
		instead()
		return nil, &explainers.Refusal{Status: http.StatusServiceUnavailable,
			Message: "many commits are being compared", Hint: "ask again in a minute"}
	case isNew:
		go c.compute(a, compute)
	default:
		instead()
	}
	select {
	case <-a.done:
	case <-time.After(patience):
		return nil, &explainers.Refusal{Status: http.StatusAccepted,
			Message: "the commit is being compared with the one before it",
			Hint:    "it is large: ask again in a few seconds"}
	}
	if a.err != nil {
		return nil, unreadable(a.err)
	}
	return a.change, nil
}

// answer returns the answer for a key, and whether it still has to be computed. It returns nil if too many are
// waiting.
func (c *changes) answer(k key) (a *answer, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.kept, func(a *answer) bool { return a.key == k }); i >= 0 {
		a = c.kept[i]
		c.kept = append(slices.Delete(c.kept, i, i+1), a)
		return a, false
	}
	waiting := 0
	for _, a := range c.kept {
		if !a.isDone() {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return nil, false
	}
	if i := slices.IndexFunc(c.kept, (*answer).isDone); len(c.kept) >= maxKept && i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
	}
	a = &answer{key: k, done: make(chan struct{})}
	c.kept = append(c.kept, a)
	return a, true
}

func (a *answer) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// compute computes an answer when it is its turn. A failed answer is computed again at the next request.
func (c *changes) compute(a *answer, compute func() (*Change, error)) {
	c.turn <- struct{}{}
	a.change, a.err = c.guarded(a.pipeline, compute)
	<-c.turn
	close(a.done)
	if a.err != nil {
		c.mu.Lock()
		c.kept = slices.DeleteFunc(c.kept, func(other *answer) bool { return other == a })
		c.mu.Unlock()
	}
}

// guarded turns a panic into an error, because the compared texts are untrusted.
func (c *changes) guarded(pipeline string, compute func() (*Change, error)) (out *Change, err error) {
	defer panics.Recover(c.log, "comparison of a commit", pipeline, &err)
	return compute()
}
