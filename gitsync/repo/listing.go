package repo

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// listing is what the remote answered when it was last asked for its refs. Callers of one round
// share it, its failure too.
type listing struct {
	asked time.Time // when the question began: everything in it is at least that new
	refs  *Refs     // nil if err is not
	err   error
}

// listings keeps the last listing of a remote.
type listings struct {
	mu   sync.Mutex
	last *listing // nil before the first
}

// since gives the last listing if it was asked for after a moment, else nil.
func (l *listings) since(moment time.Time) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.asked.After(moment) {
		return l.last
	}
	return nil
}

// set keeps an answer for the others of its round. If the caller's own context ended the question,
// it was not answered.
func (l *listings) set(ctx context.Context, answer *listing) {
	if answer.err != nil && (ctx.Err() != nil || errors.Is(answer.err, context.Canceled)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = answer
}

// pushed enters into the last listing what was pushed since: in a round in which many push to one
// ref, such as that of the notes, each builds on the one before.
func (l *listings) pushed(updates []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.err != nil {
		return
	}
	next := *l.last.refs // Others may be reading it.
	next.moved = map[string]Tip{}
	maps.Copy(next.moved, l.last.refs.moved)
	for _, u := range updates {
		next.moved[u.Ref] = Tip{Ref: u.Ref, Value: u.New, Commit: u.New}
	}
	l.last = &listing{asked: l.last.asked, refs: &next}
}

// forget drops the last listing: after a push that failed nobody knows the refs.
func (l *listings) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = nil
}
