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
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Update moves a ref of the remote from Old to New. It fails if the ref's value is not Old. The zero hash as Old
// means that the ref must not exist.
type Update struct {
	Ref string // full name
	Old plumbing.Hash
	New plumbing.Hash // a commit of the Writer, or a commit that the remote has
}

func checkUpdates(updates []Update) error {
	if len(updates) == 0 {
		return errors.New("no updates")
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
	client  *transport.Client
	updates []Update
	data    store.Packed
}

// newValues returns the new values of the refs.
func newValues(updates []Update) []plumbing.Hash {
	out := make([]plumbing.Hash, len(updates))
	for i, u := range updates {
		out[i] = u.New
	}
	return out
}

// run sends the pack and moves the refs.
func (p *push) run(ctx context.Context) error {
	session, err := p.client.Start(ctx, transport.ReceivePack)
	if err != nil {
		return p.failed(err, transport.PushReport{}, nil)
	}
	defer func() { _ = session.Close() }() // the report is complete
	now := session.Advertised.References
	if p.moved(now) {
		return p.failed(nil, transport.PushReport{}, now)
	}
	var commands []transport.Command
	for _, u := range p.updates {
		if now[u.Ref] != u.New {
			commands = append(commands, transport.Command(u))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	report, err := session.Push(commands, p.data.Parts)
	if err == nil {
		return nil
	}
	_ = session.Close()
	refs, listErr := list(ctx, p.client, transport.ReceivePack)
	if listErr != nil {
		return p.failed(fmt.Errorf("%w; listing the refs to learn the outcome: %w", err, listErr), report, nil)
	}
	now = map[string]plumbing.Hash{}
	for _, u := range p.updates {
		now[u.Ref] = refs.Tip(u.Ref).Value
	}
	return p.failed(err, report, now)
}

// moved reports whether someone else moved a ref: its value is neither the expected old one nor the new one.
func (p *push) moved(now map[string]plumbing.Hash) bool {
	return slices.ContainsFunc(p.updates, func(u Update) bool {
		return now[u.Ref] != u.Old && now[u.Ref] != u.New
	})
}

// failed determines the result of a push from the refs' present values, nil if unknown. It returns nil if all refs
// have their new values, whatever the remote reported.
func (p *push) failed(cause error, report transport.PushReport, now map[string]plumbing.Hash) error {
	e := &PushError{Remote: p.client.URL(), Message: report.Message, Cause: cause}
	if errors.Is(cause, transport.ErrNotMoved) {
		e.Cause = nil // the outcomes say everything
	}
	lost := now != nil && p.moved(now)
	done := true
	for _, u := range p.updates {
		o := RefOutcome{Update: u, Reason: report.Reasons[u.Ref], Now: now[u.Ref]}
		switch {
		case now != nil && o.Now == u.New:
		case now != nil && o.Now != u.Old:
			o.Err = ErrLostRace
		case lost || strings.Contains(o.Reason, "atomic"):
			o.Err = ErrHeldBack
		case errors.Is(cause, transport.ErrUnreachable):
			o.Err = transport.ErrUnreachable
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

// cacheTimeout bounds how long a successful push waits for the cache, which a fetch may be using.
const cacheTimeout = time.Second

// cachePushed adds the pushed objects to the cache.
func (r *Repo) cachePushed(ctx context.Context, updates []Update, data store.Packed) error {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
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
	return r.saveTips(tips)
}
