package repo

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// listing is a listing of the remote's refs, or its failure. The callers of one round share it.
type listing struct {
	asked time.Time // the start of the request: the refs are at least as new
	refs  *Refs     // nil if err is not
	err   error
}

// listings keeps the last listing of a remote.
type listings struct {
	mu   sync.Mutex
	last *listing // nil before the first
}

// since returns the last listing if its request began after moment, otherwise nil.
func (l *listings) since(moment time.Time) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.asked.After(moment) {
		return l.last
	}
	return nil
}

// set keeps a listing for the other callers of its round, unless the caller's context ended the request.
func (l *listings) set(ctx context.Context, answer *listing) {
	if answer.err != nil && (ctx.Err() != nil || errors.Is(answer.err, context.Canceled)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = answer
}

// pushed applies a push to the last listing. Many pushes of a round can go to one ref, such as the notes, and each
// builds on the one before.
func (l *listings) pushed(updates []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.err != nil {
		return
	}
	next := *l.last.refs // a copy, because others may be reading the original
	next.moved = map[string]Tip{}
	maps.Copy(next.moved, l.last.refs.moved)
	for _, u := range updates {
		next.moved[u.Ref] = Tip{Ref: u.Ref, Value: u.New, Commit: u.New}
	}
	l.last = &listing{asked: l.last.asked, refs: &next}
}

// forget drops the last listing, because the refs are unknown after a failed push.
func (l *listings) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = nil
}
