package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

// Update moves a ref of the remote from Old to New, and from no other value.
// The zero hash as Old means that the ref must not exist.
type Update struct {
	Ref string // full name
	Old plumbing.Hash
	New plumbing.Hash // a commit of the Writer, or one that the remote has
}

func checkUpdates(updates []Update) error {
	if len(updates) == 0 {
		return errors.New("no update is given")
	}
	for _, u := range updates {
		switch {
		case !strings.HasPrefix(u.Ref, "refs/") || strings.ContainsAny(u.Ref, " \x00\n"):
			return fmt.Errorf("%q is not the full name of a ref", u.Ref)
		case u.New.IsZero():
			return fmt.Errorf("deletion of %s is not supported", u.Ref)
		}
	}
	return nil
}

// push is one run of [Pusher.Push].
type push struct {
	ctx     context.Context
	client  *client
	remote  string
	updates []Update

	data    store.Packed
	message tail              // what the remote said
	reasons map[string]string // by ref, from the remote's report
}

// newValues are the values that the refs are to have.
func newValues(updates []Update) []plumbing.Hash {
	out := make([]plumbing.Hash, len(updates))
	for i, u := range updates {
		out[i] = u.New
	}
	return out
}

func (p *push) run() error {
	svc, err := p.client.start(p.ctx, receivePack)
	if err != nil {
		return p.failed(err, nil)
	}
	defer func() { _ = svc.Close() }() // The report is complete.
	now := svc.adv.References
	if p.moved(now) {
		return p.failed(nil, now)
	}
	todo := slices.DeleteFunc(slices.Clone(p.updates), func(u Update) bool { return now[u.Ref] == u.New })
	if len(todo) == 0 {
		return nil
	}
	err = p.send(svc, todo)
	if err == nil {
		return nil
	}
	_ = svc.Close()
	names, listErr := p.client.list(p.ctx, receivePack)
	if listErr != nil {
		return p.failed(fmt.Errorf("%w; to see what became of it: %w", err, listErr), nil)
	}
	now = map[string]plumbing.Hash{}
	for _, u := range p.updates {
		now[u.Ref] = names.Tip(u.Ref).Value
	}
	return p.failed(err, now)
}

// moved reports whether a ref has neither its expected old value nor its new one.
func (p *push) moved(now map[string]plumbing.Hash) bool {
	return slices.ContainsFunc(p.updates, func(u Update) bool {
		return now[u.Ref] != u.Old && now[u.Ref] != u.New
	})
}

// failed decides by the refs' values what the push did. It returns nil if all have the new value,
// whatever the remote said. now is nil if the values are unknown.
func (p *push) failed(cause error, now map[string]plumbing.Hash) error {
	e := &PushError{Remote: p.remote, Message: remoteText(p.message.String(), p.client.secrets()), Cause: cause}
	if errors.Is(cause, errReport) {
		e.Cause = nil // The outcomes say it all.
	}
	lost := now != nil && p.moved(now)
	done := true
	for _, u := range p.updates {
		o := RefOutcome{Update: u, Reason: p.reasons[u.Ref], Now: now[u.Ref]}
		switch {
		case now != nil && o.Now == u.New:
		case now != nil && o.Now != u.Old:
			o.Err = ErrLostRace
		case lost || strings.Contains(o.Reason, "atomic"):
			o.Err = ErrHeldBack
		case errors.Is(cause, ErrUnreachable):
			o.Err = ErrUnreachable
		default:
			o.Err = ErrRejected
		}
		done = done && o.Err == nil
		e.Refs = append(e.Refs, o)
	}
	if done {
		return nil
	}
	return e
}

// keepTimeout is how long a push that has succeeded waits for the cache, which a fetch may be using.
const keepTimeout = time.Second

// keep adds what was pushed to the cache.
func (r *Repo) keep(ctx context.Context, updates []Update, data store.Packed) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.load(); err != nil {
		return err
	}
	if data.Empty() {
		return nil
	}
	if _, err := r.store.Add(data); err != nil {
		return err
	}
	if err := r.load(); err != nil {
		return err
	}
	var tips []Tip
	for _, u := range updates {
		if r.isComplete(u.New) {
			tips = append(tips, Tip{Ref: u.Ref, Value: u.New, Commit: u.New})
		}
	}
	return r.remember(tips)
}
