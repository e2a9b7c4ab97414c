package repo

import (
	"context"
	"errors"
	"maps"
	"time"
)

// listing is what the remote answered when it was last asked for its refs. Callers of
// one round share it, and so does what went wrong.
type listing struct {
	asked time.Time // when the question began: everything in it is at least that new
	refs  *Refs     // nil if err is not
	err   error
}

// listedSince gives the last answer if it is of after a moment, else nil.
func (r *Repo) listedSince(since time.Time) *listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed != nil && r.listed.asked.After(since) {
		return r.listed
	}
	return nil
}

// setListing keeps an answer for the others of its round. A question that the caller's
// own context ended was not answered.
func (r *Repo) setListing(ctx context.Context, l *listing) {
	if l.err != nil && (ctx.Err() != nil || errors.Is(l.err, context.Canceled)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = l
}

// relist enters into the last answer what was pushed since: in a round in which many
// push to one ref, such as that of the notes, each builds on the one before.
func (r *Repo) relist(updates []Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed == nil || r.listed.err != nil {
		return
	}
	next := *r.listed.refs // others may be reading it
	next.moved = map[string]Tip{}
	maps.Copy(next.moved, r.listed.refs.moved)
	for _, u := range updates {
		next.moved[u.Ref] = Tip{Ref: u.Ref, Value: u.New, Commit: u.New}
	}
	r.listed = &listing{asked: r.listed.asked, refs: &next}
}

// unlist forgets the last answer: after a push that failed nobody knows.
func (r *Repo) unlist() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = nil
}
