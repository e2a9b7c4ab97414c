package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/panics"
)

// maxPushesPerRemote is how many passes may write to one remote at once. A pass counts from
// the moment that it renders: before, it writes nothing.
const maxPushesPerRemote = 8

// remotes list the refs of repositories in rounds, each for all instances that use the repository.
// It is safe for concurrent use.
type remotes struct {
	options Options
	backend backend
	busy    *sync.WaitGroup // rounds under way
	// before is called before each round, with the instances that use the remote, and after when it
	// has ended. Both are called without the lock.
	before func(r *remote, users []*instance)
	after  func(users []*instance, reason string, health bool)

	mu      sync.Mutex
	ctx     context.Context // of rounds, which alarms start; nil before start
	stopped bool
	all     map[*repo.Repo]*remote
}

// start begins the rounds that were asked for.
func (rs *remotes) start(ctx context.Context) {
	rs.mu.Lock()
	rs.ctx = ctx
	rs.mu.Unlock()
	rs.plan()
}

// stop begins no more rounds.
func (rs *remotes) stop() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.stopped = true
	for _, r := range rs.all {
		r.alarm.stop()
	}
}

// join enters an instance as user of its syncer's remotes, and asks for their rounds, which plan
// begins. The caller has the instance in use.
func (rs *remotes) join(inst *instance, def *Definition) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	inst.members, inst.output = nil, nil
	for _, refs := range inst.syncer.Refs() {
		r := rs.all[refs.Repo]
		if r == nil {
			r = &remote{repo: refs.Repo, writers: newSlots(maxPushesPerRemote), users: map[*instance]member{}}
			rs.all[refs.Repo] = r
		}
		m := member{remote: r, refs: refs.Refs, interval: def.interval()}
		if ref := outputRef(def); def.Expand == nil && slices.Contains(refs.Refs, ref) &&
			r.repo.URL() == normalURL(def.Spec.Output.URL) {
			inst.output, m.writes = r, &ref
		}
		r.users[inst] = m
		inst.members = append(inst.members, m)
		r.ask(ReasonPoll)
	}
}

// leave is the opposite of join.
func (rs *remotes) leave(inst *instance) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, m := range inst.members {
		delete(m.remote.users, inst)
		if len(m.remote.users) == 0 {
			m.remote.alarm.stop()
			delete(rs.all, m.remote.repo)
		}
	}
}

// readers opens a Reader of the cache of each remote of an instance, the one that it writes to first.
func (rs *remotes) readers(inst *instance) (out []*object.Reader) {
	if inst == nil {
		return nil
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, m := range inst.members {
		if rd := m.remote.repo.Reader(); m.remote == inst.output {
			out = slices.Insert(out, 0, rd)
		} else {
			out = append(out, rd)
		}
	}
	return out
}

// hasMoved reports whether the syncer of an instance uses other repositories than at join. The caller
// has the instance in use.
func (rs *remotes) hasMoved(inst *instance) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return !slices.EqualFunc(inst.syncer.Refs(), inst.members, func(refs gitsync.RemoteRefs, m member) bool {
		return refs.Repo == m.remote.repo
	})
}

// ask asks for rounds of an instance's remotes, except one, that have an address; empty: any address.
// plan begins them.
func (rs *remotes) ask(inst *instance, address, reason string, but *remote) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, m := range inst.members {
		if m.remote != but && (address == "" || address == pipeline.RepositoryAddress(m.remote.repo.URL())) {
			m.remote.ask(reason)
		}
	}
}

// plan begins the rounds that were asked for.
func (rs *remotes) plan() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		rs.planOne(r)
	}
}

// planOne begins the next round of a remote, now or when it is due. rs.mu is held.
func (rs *remotes) planOne(r *remote) {
	r.alarm.stop()
	if rs.ctx == nil || rs.ctx.Err() != nil || rs.stopped || r.underWay || len(r.users) == 0 {
		return
	}
	now := time.Now()
	at := r.due
	if r.asked {
		at = now
	}
	if soonest := r.began.Add(rs.options.MinGap); !r.began.IsZero() && at.Before(soonest) {
		at = soonest
	}
	if wait := at.Sub(now); wait > 0 {
		r.alarm.set(wait, func() {
			rs.mu.Lock()
			defer rs.mu.Unlock()
			rs.planOne(r)
		})
		return
	}
	r.underWay, r.asked, r.began, r.pushed = true, false, now, map[repo.Ref]plumbing.Hash{}
	r.reason, r.nextReason = cmp.Or(r.nextReason, ReasonPoll), ""
	rs.busy.Go(func() { rs.round(r) })
}

// round lists the refs of a remote, and fetches what has moved.
func (rs *remotes) round(r *remote) {
	rs.mu.Lock()
	users := slices.Collect(maps.Keys(r.users))
	rs.mu.Unlock()
	rs.before(r, users)
	rs.mu.Lock()
	began, refs := time.Now(), r.refs()
	rs.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(rs.ctx, rs.options.PassTimeout,
		fmt.Errorf("no answer within %s", rs.options.PassTimeout))
	defer cancel()
	tips, err := rs.list(ctx, r.repo, began, refs)
	if err != nil && rs.ctx.Err() != nil {
		return // the fleet stops: this says nothing about the remote
	}
	rs.mu.Lock()
	r.listed, r.took, r.underWay = began, time.Since(began), false
	reason, health := r.reason, rs.conclude(r, tips, err)
	users = slices.Collect(maps.Keys(r.users))
	rs.planOne(r)
	rs.mu.Unlock()
	rs.after(users, reason, health)
}

// list fetches refs. If one of them fails, each is fetched by itself, so that it is missing only for
// the pipelines that read it: their passes report why.
func (rs *remotes) list(ctx context.Context, r *repo.Repo, since time.Time,
	refs []repo.Ref) (tips map[repo.Ref]plumbing.Hash, err error) {
	defer panics.Recover(rs.options.Log, "round", r.URL(), &err)
	tips = make(map[repo.Ref]plumbing.Hash, len(refs))
	if len(refs) == 0 {
		return tips, nil
	}
	err = rs.backend.fetch(ctx, r, since, refs, tips)
	if err == nil || isOfRemote(err) {
		return tips, err
	}
	for _, ref := range refs {
		tips[ref] = plumbing.ZeroHash
		if err := rs.backend.fetch(ctx, r, since, []repo.Ref{ref}, tips); err != nil && isOfRemote(err) {
			return tips, err
		}
	}
	return tips, nil
}

// conclude records the result of a round, and reports whether the remote fails or has recovered. rs.mu
// is held.
func (rs *remotes) conclude(r *remote, tips map[repo.Ref]plumbing.Hash, err error) (health bool) {
	wasDown, failed := r.isDown(), r.failures > 0
	if err != nil {
		r.failures++
		r.retries++
		r.err = err
		r.due = time.Now().Add(retryDelay(err, r.retries, rs.backend.random))
	} else {
		r.failures, r.retries, r.err = 0, 0, nil
		maps.Copy(tips, r.pushed)
		r.tips, r.good = tips, time.Now()
		r.due = r.began.Add(jittered(r.interval(), rs.options.Jitter, rs.backend.random))
	}
	if r.isDown() && !wasDown {
		rs.options.Log.Warn("remote cannot be reached", "remote", r.repo.URL(), "pipelines", len(r.users), "err", err)
	}
	if wasDown && !r.isDown() {
		rs.options.Log.Info("remote can be reached again", "remote", r.repo.URL(), "pipelines", len(r.users))
	}
	return failed || err != nil
}

// pushed makes a commit the tip of a ref until the next round. A round that is under way may have seen the
// ref before the push: the pipeline would take its own commit for somebody else's.
func (rs *remotes) pushed(r *remote, ref repo.Ref, commit plumbing.Hash) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.tips[ref], r.pushed[ref] = commit, commit
}

// status returns the state of all remotes, by URL.
func (rs *remotes) status() []RemoteStatus {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	out := make([]RemoteStatus, 0, len(rs.all))
	for _, r := range rs.all {
		out = append(out, r.status())
	}
	slices.SortFunc(out, func(a, b RemoteStatus) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Pipelines, b.Pipelines), cmp.Compare(a.Refs, b.Refs))
	})
	return out
}

// isPermanent reports whether an error lasts until somebody does something.
func isPermanent(err error) bool {
	return isAny(err, errStuck, transport.ErrAuth, transport.ErrHostKey, transport.ErrRepositoryNotFound,
		repo.ErrRejected, transport.ErrRefNotFound, repo.ErrEmptyRepository, limit.ErrTooLarge, repo.ErrCache,
		repo.ErrFiles)
}

// isOfRemote reports whether an error says something about the remote as a whole, and not
// about one of the refs that were asked for, or about the cache.
func isOfRemote(err error) bool {
	return isAny(err, transport.ErrUnreachable, transport.ErrAuth, transport.ErrHostKey,
		transport.ErrRepositoryNotFound, context.DeadlineExceeded, context.Canceled)
}

func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}
