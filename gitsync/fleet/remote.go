package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// remote is a repository as one credential sees it, shared by pipelines. Its fields are
// guarded by Fleet.mu.
type remote struct {
	repo    *repo.Repo
	writers slots // passes that may be writing to it
	members map[*pipeline][]repo.Ref

	rounding bool
	asked    bool      // a round is wanted now
	next     string    // why it is wanted; empty when it is not
	reason   string    // why the last round was made, whether it has ended or not
	due      time.Time // of the next round
	alarm    alarm

	began  time.Time                  // of the last round, whether it has ended or not
	listed time.Time                  // beginning of the last round that has ended, well or not; zero before
	tips   map[repo.Ref]plumbing.Hash // as the last good round has them; zero: there is no such ref
	good   time.Time                  // when the last good round ended
	took   time.Duration

	failures int // in a row
	retries  int // as failures, but from the last trigger on
	err      error
}

// refs are what is listed in a round, each once.
func (r *remote) refs() []repo.Ref {
	all := map[repo.Ref]bool{}
	for _, refs := range r.members {
		for _, ref := range refs {
			all[ref] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// interval is the shortest of those who are interested.
func (r *remote) interval() time.Duration {
	var shortest time.Duration
	for p := range r.members {
		if i := p.interval(); shortest == 0 || i < shortest {
			shortest = i
		}
	}
	return shortest
}

// isDown reports whether the remote has failed often enough to speak of it, or in a way that
// does not pass.
func (r *remote) isDown() bool {
	return r.failures >= downAfter || r.failures > 0 && isPermanent(r.err)
}

// isPermanent reports whether an error needs somebody to do something.
func isPermanent(err error) bool {
	for _, kind := range []error{repo.ErrAuth, repo.ErrHostKey, repo.ErrRepositoryNotFound, repo.ErrRejected, repo.ErrRefNotFound, repo.ErrEmptyRepository, repo.ErrTooLarge, repo.ErrCache} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// isOfRemote reports whether an error says something about the remote as a whole, and not
// about one of the refs that were asked for, or about the cache.
func isOfRemote(err error) bool {
	for _, kind := range []error{repo.ErrUnreachable, repo.ErrAuth, repo.ErrHostKey, repo.ErrRepositoryNotFound, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// ask makes the next round one that may be at once, also of a remote that was left alone for
// its failures. Fleet.planAll begins it, once for all who ask; what somebody told us is its reason
// before what we only want to see.
func (r *remote) ask(reason string) {
	r.asked, r.retries = true, 0
	if r.next == "" || reason != ReasonPoll {
		r.next = reason
	}
}

// plan sees to the next round of a remote. f.mu is held.
func (f *Fleet) plan(r *remote) {
	r.alarm.stop()
	if !f.isRunning() || r.rounding || len(r.members) == 0 {
		return
	}
	now := time.Now()
	at := r.due
	if r.asked {
		at = now
	}
	if soonest := r.began.Add(f.options.MinGap); !r.began.IsZero() && at.Before(soonest) {
		at = soonest
	}
	if wait := at.Sub(now); wait > 0 {
		r.alarm.set(wait, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.plan(r)
		})
		return
	}
	r.rounding, r.asked, r.began = true, false, now
	r.reason, r.next = cmp.Or(r.next, ReasonPoll), ""
	f.spawn(func() { f.round(r) })
}

// round lists the refs of a remote, fetches what has moved, and lets the pipelines see.
func (f *Fleet) round(r *remote) {
	f.refresh(r)
	f.mu.Lock()
	began := time.Now()
	refs := r.refs()
	f.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(f.rounds, f.options.PassTimeout, fmt.Errorf("no answer within %s", f.options.PassTimeout))
	defer cancel()
	tips, err := f.list(ctx, r, began, refs)
	if err != nil && f.rounds.Err() != nil {
		return // the fleet stops: this says nothing about the remote
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.listed, r.took, r.rounding = began, time.Since(began), false
	f.conclude(r, tips, err)
}

// list asks for refs. When one of them cannot be had, each pipeline's are asked for by
// themselves, so that it is missed only by who wants it: that pass will say what is wrong.
func (f *Fleet) list(ctx context.Context, r *remote, since time.Time, refs []repo.Ref) (tips map[repo.Ref]plumbing.Hash, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = f.panicked("round", r.repo.URL(), v)
		}
	}()
	tips = make(map[repo.Ref]plumbing.Hash, len(refs))
	if len(refs) == 0 {
		return tips, nil
	}
	err = f.engine.fetch(ctx, r.repo, since, refs, tips)
	if err == nil || isOfRemote(err) {
		return tips, err
	}
	for _, ref := range refs {
		tips[ref] = plumbing.ZeroHash
		if err := f.engine.fetch(ctx, r.repo, since, []repo.Ref{ref}, tips); err != nil && isOfRemote(err) {
			return tips, err
		}
	}
	return tips, nil
}

// conclude takes the result of a round and plans the next. f.mu is held.
func (f *Fleet) conclude(r *remote, tips map[repo.Ref]plumbing.Hash, err error) {
	wasDown, failed := r.isDown(), r.failures > 0
	if err != nil {
		r.failures++
		r.retries++
		r.err = err
		r.due = time.Now().Add(backoff(r.retries, f.engine.random))
	} else {
		r.failures, r.retries, r.err = 0, 0, nil
		r.tips, r.good = tips, time.Now()
		r.due = r.began.Add(jittered(r.interval(), f.options.Jitter, f.engine.random))
	}
	if r.isDown() && !wasDown {
		f.log.Warn("remote cannot be reached", "remote", r.repo.URL(), "pipelines", len(r.members), "err", err)
	}
	if wasDown && !r.isDown() {
		f.log.Info("remote can be reached again", "remote", r.repo.URL(), "pipelines", len(r.members))
	}
	for p := range r.members {
		if p.at.hasMoved() {
			f.wants(p, wish{reason: r.reason})
		}
		f.consider(p)
		if failed || r.failures > 0 {
			f.review(p)
		}
	}
	f.plan(r)
}

// join makes a pipeline a member of the remotes of its instance, and asks for their rounds,
// which planAll begins. f.mu is held.
func (f *Fleet) join(p *pipeline, at *instance) {
	at.members, at.output = nil, nil
	for _, refs := range at.Refs() {
		r := f.remotes[refs.Repo]
		if r == nil {
			r = &remote{repo: refs.Repo, writers: newSlots(maxPushesPerRemote), members: map[*pipeline][]repo.Ref{}}
			f.remotes[refs.Repo] = r
		}
		r.members[p] = refs.Refs
		at.members = append(at.members, member{r, refs.Refs})
		if p.def.Expand == nil && slices.Contains(refs.Refs, outputRef(p.def)) && r.repo.URL() == normalURL(p.def.Spec.Output.URL) {
			at.output = r
		}
	}
	for _, m := range at.members {
		m.remote.ask(ReasonPoll)
	}
}

// planAll begins the rounds that were asked for. f.mu is held.
func (f *Fleet) planAll() {
	for _, r := range f.remotes {
		f.plan(r)
	}
}

// leave is the opposite of join. f.mu is held.
func (f *Fleet) leave(p *pipeline, at *instance) {
	for _, m := range at.members {
		delete(m.remote.members, p)
		if len(m.remote.members) == 0 {
			m.remote.alarm.stop()
			delete(f.remotes, m.remote.repo)
		}
	}
}

// normalURL is a URL as repositories have it.
func normalURL(url string) string {
	normal, err := repo.NormaliseURL(url)
	if err != nil {
		return url // it was validated, and its repository is open
	}
	return normal
}
