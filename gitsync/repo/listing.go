package repo

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// listing is the last listing of the remote's refs, or its failure. Callers of one round share it.
type listing struct {
	asked time.Time // when the request began: everything in it is at least as new
	refs  *Refs     // nil if err is not
	err   error
}

// listings keeps the last listing of a remote.
type listings struct {
	mu   sync.Mutex
	last *listing // nil before the first
}

// since returns the last listing if it was requested after a moment, otherwise nil.
func (l *listings) since(moment time.Time) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.asked.After(moment) {
		return l.last
	}
	return nil
}

// set keeps a listing for the other callers of its round, unless the caller's own context ended the request.
func (l *listings) set(ctx context.Context, answer *listing) {
	if answer.err != nil && (ctx.Err() != nil || errors.Is(answer.err, context.Canceled)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = answer
}

// pushed updates the last listing with what was pushed since. In a round, many pushes can go to one ref, such
// as that of the notes, and each builds on the one before.
func (l *listings) pushed(updates []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.err != nil {
		return
	}
	next := *l.last.refs // others can be reading it
	next.moved = map[string]Tip{}
	maps.Copy(next.moved, l.last.refs.moved)
	for _, u := range updates {
		next.moved[u.Ref] = Tip{Ref: u.Ref, Value: u.New, Commit: u.New}
	}
	l.last = &listing{asked: l.last.asked, refs: &next}
}

// forget drops the last listing: after a failed push the refs are unknown.
func (l *listings) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = nil
}
