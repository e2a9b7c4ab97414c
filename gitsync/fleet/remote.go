package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// downAfter is how many rounds in a row must fail until the pipelines of a remote are said not to be
// ready: most outages are over within seconds, and nobody wants to hear of them.
const downAfter = 3

// remote is a repository as one credential sees it, shared by instances. Its fields but repo and
// writers are guarded by remotes.mu.
type remote struct {
	repo    *repo.Repo
	writers slots // passes that may be writing to it
	users   map[*instance]use

	underWay   bool   // a round is
	asked      bool   // a round is wanted now
	nextReason string // why it is wanted; empty when it is not
	reason     string // why the last round was made, whether it has ended or not
	due        time.Time
	alarm      alarm

	began  time.Time                  // of the last round, whether it has ended or not
	listed time.Time                  // beginning of the last round that has ended, well or not; zero before
	tips   map[repo.Ref]plumbing.Hash // found by the last good round; zero: there is no such ref
	good   time.Time                  // when the last good round ended
	took   time.Duration

	failures int // in a row
	retries  int // as failures, but from the last trigger on
	err      error
}

// use is what an instance wants of a remote.
type use struct {
	refs     []repo.Ref
	interval time.Duration
}

// refs are what is listed in a round, each once.
func (r *remote) refs() []repo.Ref {
	all := map[repo.Ref]bool{}
	for _, u := range r.users {
		for _, ref := range u.refs {
			all[ref] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// interval is the shortest of its users.
func (r *remote) interval() time.Duration {
	var shortest time.Duration
	for _, u := range r.users {
		if shortest == 0 || u.interval < shortest {
			shortest = u.interval
		}
	}
	return shortest
}

// isDown reports whether the remote has failed often enough to be reported, or in a way that does
// not end by itself.
func (r *remote) isDown() bool {
	return r.failures >= downAfter || r.failures > 0 && isPermanent(r.err)
}

// ask makes the next round begin as soon as it may, also if the remote is left alone for its
// failures. A trigger gives it its reason, rather than a poll.
func (r *remote) ask(reason string) {
	r.asked, r.retries = true, 0
	if r.nextReason == "" || reason != ReasonPoll {
		r.nextReason = reason
	}
}

func (r *remote) status() RemoteStatus {
	out := RemoteStatus{
		URL: r.repo.URL(), Pipelines: len(r.users), Refs: len(r.refs()),
		Interval: metav1.Duration{Duration: r.interval()}, LastRound: jsonTime(r.good), Took: metav1.Duration{Duration: r.took},
		NextRound: jsonTime(r.due), Failures: r.failures,
	}
	if r.err != nil {
		out.Error = r.err.Error()
	}
	return out
}

// member is a remote and the refs that an instance has there.
type member struct {
	remote *remote
	refs   []repo.Ref
}

// tip is what was known of a ref.
type tip struct {
	remote *remote
	ref    repo.Ref
	commit plumbing.Hash // zero if there is no such ref
	known  bool          // false while the remote fails
}

// view is what was known of the remotes of an instance at one moment.
type view struct {
	tips []tip
	// since is a moment after which every remote was listed, well or not: a pass that builds on it
	// asks no remote again, and waits for none that does not answer.
	since time.Time
	// Each ref, but those of failing remotes, was listed after listed; complete is false if one was
	// not listed yet.
	listed      time.Time
	complete    bool
	nextRound   time.Time
	outputFails bool  // the last round of the remote that it writes to failed
	outputErr   error // that remote is down
	sourceErr   error // a remote that it only reads is down
}

// look gives the view of an instance; of nil, the zero one.
func (rs *remotes) look(inst *instance) view {
	if inst == nil {
		return view{}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := time.Now()
	v := view{since: now, listed: now, complete: true}
	for _, m := range inst.members {
		v.add(m, m.remote == inst.output)
	}
	return v
}

func (v *view) add(m member, isOutput bool) {
	r, fails := m.remote, m.remote.failures > 0
	if !r.listed.IsZero() && r.listed.Before(v.since) {
		v.since = r.listed
	}
	if !r.due.IsZero() && (v.nextRound.IsZero() || r.due.Before(v.nextRound)) {
		v.nextRound = r.due
	}
	for _, ref := range m.refs {
		commit, listed := r.tips[ref]
		v.tips = append(v.tips, tip{r, ref, commit, listed && !fails})
		v.complete = v.complete && (listed || fails)
		if !fails && r.listed.Before(v.listed) {
			v.listed = r.listed
		}
	}
	switch {
	case isOutput:
		v.outputFails = fails
		if r.isDown() {
			v.outputErr = r.err
		}
	case r.isDown() && (v.sourceErr == nil || isPermanent(r.err)):
		v.sourceErr = r.err
	}
}

// isListedSince reports whether enough is known for a pass that was asked for at a moment. Failing
// remotes are not waited for.
func (v view) isListedSince(asked time.Time) bool { return v.complete && !v.listed.Before(asked) }

// hasMoved reports whether a ref is not where it was for the last pass. One that is not known
// now has not moved; one that was not known then has.
func (v view) hasMoved(tried []tip) bool {
	if tried == nil {
		return false // the first pass is wanted anyway
	}
	for i, now := range v.tips {
		if now.known && now != tried[i] {
			return true
		}
	}
	return false
}

// commit is the commit of a source that a pass would render now; empty if it is not known.
func (v view) commit(src *gitsync.Source) string {
	want := sourceRef(*src)
	if want.Commit != "" {
		return want.Commit
	}
	want.Optional = true
	for _, t := range v.tips {
		if t.ref == want && !t.commit.IsZero() && gitsync.RepositoryAddress(t.remote.repo.URL()) == gitsync.RepositoryAddress(src.URL) {
			return t.commit.String()
		}
	}
	return ""
}

// sourceRef is what is read of a source, as package repo has it.
func sourceRef(src gitsync.Source) repo.Ref {
	r := src.Ref
	return repo.Ref{Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Commit: r.Commit, Name: r.Name}
}

// outputRef is the output branch as [gitsync.Syncer.Refs] has it.
func outputRef(def *Definition) repo.Ref {
	return repo.Ref{Name: "refs/heads/" + def.Spec.Output.Branch, Optional: true}
}

// normalURL is a URL as repositories have it.
func normalURL(url string) string {
	normal, err := repo.NormaliseURL(url)
	if err != nil {
		return url // it was validated, and its repository is open
	}
	return normal
}
