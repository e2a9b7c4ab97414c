package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// downAfter is how many rounds in a row must fail before the pipelines of a remote are reported as not
// ready: most outages last seconds, and need no report.
const downAfter = 3

// remote is a repository as one credential sees it, shared by instances. Its fields but repo and
// writers are guarded by remotes.mu.
type remote struct {
	repo    *repo.Repo
	writers slots // passes that may be writing to it
	users   map[*instance]member

	underWay   bool   // a round runs
	asked      bool   // a round is wanted now
	nextReason string // why it is wanted; empty if it is not
	reason     string // the reason of the last round, which may still run
	due        time.Time
	alarm      alarm

	began  time.Time                  // beginning of the last round, which may still run
	listed time.Time                  // beginning of the last round that ended, even with an error; zero before
	tips   map[repo.Ref]plumbing.Hash // found by the last successful round; zero: there is no such ref
	pushed map[repo.Ref]plumbing.Hash // pushed since the last round began, which may have listed the refs before
	good   time.Time                  // end of the last successful round
	took   time.Duration

	failures int // in a row
	retries  int // failures since the last trigger
	err      error
}

// refs returns the refs that a round lists, without duplicates.
func (r *remote) refs() []repo.Ref {
	all := map[repo.Ref]bool{}
	for _, m := range r.users {
		for _, ref := range m.refs {
			all[ref] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// interval returns the shortest interval of its users.
func (r *remote) interval() time.Duration {
	var shortest time.Duration
	for _, m := range r.users {
		if shortest == 0 || m.interval < shortest {
			shortest = m.interval
		}
	}
	return shortest
}

// isDown reports whether the remote has failed often enough to be reported, or permanently.
func (r *remote) isDown() bool {
	return r.failures >= downAfter || r.failures > 0 && isPermanent(r.err)
}

// ask makes the next round begin as soon as it may, even if the remote waits after failures. Triggers
// give the reason before polls.
func (r *remote) ask(reason string) {
	r.asked, r.retries = true, 0
	if r.nextReason == "" || reason != ReasonPoll {
		r.nextReason = reason
	}
}

func (r *remote) status() RemoteStatus {
	out := RemoteStatus{
		URL: r.repo.URL(), Pipelines: len(r.users), Refs: len(r.refs()),
		Interval: metav1.Duration{Duration: r.interval()}, LastRound: jsonTime(r.good),
		Took:      metav1.Duration{Duration: r.took},
		NextRound: jsonTime(r.due), Failures: r.failures,
	}
	if r.err != nil {
		out.Error = r.err.Error()
	}
	return out
}

// member is a remote, and the refs of it that an instance uses.
type member struct {
	remote   *remote
	refs     []repo.Ref
	writes   *repo.Ref // the one of refs that is the output branch; nil if that is elsewhere
	interval time.Duration
}

// tip is the known commit of a ref.
type tip struct {
	remote *remote
	ref    repo.Ref
	commit plumbing.Hash // zero if there is no such ref
	known  bool          // false while the remote fails
	// isOutput says that it is the branch that the instance writes.
	isOutput bool
}

// view is the state of an instance's remotes at one moment.
type view struct {
	tips []tip
	// since is a moment after which every remote was listed, even with an error: a pass that builds on
	// it asks no remote again, and waits for none that does not answer.
	since time.Time
	// Except at failing remotes, each ref was listed after the moment listed; complete is false if one
	// was not listed yet.
	listed      time.Time
	complete    bool
	nextRound   time.Time
	outputFails bool  // the last round of the remote that it writes to failed
	outputErr   error // that remote is down
	sourceErr   error // a remote that it only reads is down
}

// look returns the view of an instance. For nil it returns the zero view.
func (rs *remotes) look(inst *instance) view {
	if inst == nil {
		return view{}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := time.Now()
	v := view{since: now, listed: now, complete: true}
	for _, m := range inst.members {
		v.add(m)
	}
	return v
}

func (v *view) add(m member) {
	r, fails := m.remote, m.remote.failures > 0
	if !r.listed.IsZero() && r.listed.Before(v.since) {
		v.since = r.listed
	}
	if !r.due.IsZero() && (v.nextRound.IsZero() || r.due.Before(v.nextRound)) {
		v.nextRound = r.due
	}
	for _, ref := range m.refs {
		commit, listed := r.tips[ref]
		v.tips = append(v.tips, tip{r, ref, commit, listed && !fails, m.writes != nil && ref == *m.writes})
		v.complete = v.complete && (listed || fails)
		if !fails && r.listed.Before(v.listed) {
			v.listed = r.listed
		}
	}
	switch {
	case m.writes != nil:
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

// moved reports whether a source and the output have changed since the last pass. A ref that is unknown now
// has not; one that was unknown then has.
func (v view) moved(tried []tip) (sources, output bool) {
	if tried == nil {
		return false, false // the first pass was asked for anyway
	}
	for i, now := range v.tips {
		if now.known && now != tried[i] {
			sources, output = sources || !now.isOutput, output || now.isOutput
		}
	}
	return sources, output
}

// commit returns the commit of a source that a pass would render now, or "" if it is unknown.
func (v view) commit(src *pipeline.Source) string {
	want := sourceRef(*src)
	if want.Commit != "" {
		return want.Commit
	}
	want.Optional = true
	for _, t := range v.tips {
		if t.ref == want && !t.commit.IsZero() &&
			pipeline.SameRepository(t.remote.repo.URL(), src.URL) {
			return t.commit.String()
		}
	}
	return ""
}

// sourceRef returns the ref of a source in the form of package repo.
func sourceRef(src pipeline.Source) repo.Ref {
	r := src.Ref
	return repo.Ref{Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Commit: r.Commit, Name: r.Name}
}

// outputRef returns the output branch in the form of [gitsync.Syncer.Refs].
func outputRef(def *Definition) repo.Ref {
	return repo.Ref{Name: "refs/heads/" + def.Spec.Output.Branch, Optional: true}
}

// normalURL returns a URL in the form of package repo.
func normalURL(url string) string {
	normal, err := transport.NormaliseURL(url)
	if err != nil {
		return url // it was validated, and its repository is open
	}
	return normal
}
