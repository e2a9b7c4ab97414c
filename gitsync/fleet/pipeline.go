package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// passer makes passes of one pipeline: a [gitsync.Syncer], or an [expander]. It is not safe
// for concurrent use.
type passer interface {
	PassSince(ctx context.Context, since time.Time) (*gitsync.Report, error)
	Refs() []gitsync.RemoteRefs
	SetCredentials(gitsync.Credentials) error
	Forget()
	Size() int64
	Close() error
}

var _ passer = (*gitsync.Syncer)(nil)

// pipeline is one definition and what became of it. Its fields are guarded by Fleet.mu.
type pipeline struct {
	def     *Definition
	mine    bool
	refused string // why it may not run beside the others
	removed bool   // from the configuration; it stays until its pass has ended

	generation int // counts the changes of what it is

	at      *instance // nil while it is not open
	opening bool
	trouble string // why it cannot be opened, or has no credentials
	running bool   // a pass is under way, perhaps of an earlier instance

	want      wish
	notBefore time.Time // of the next pass, or of opening
	alarm     alarm
	waits     string // for whom the rollout holds it back

	last     lastPass
	children []*Definition // of forEach

	status Status // as published; what it refers to is never changed
	told   Status // as the observers know it
	toTell bool
}

// lastPass is what conditions depend on besides the status.
type lastPass struct {
	began     time.Time
	made      bool   // one has ended well since the pipeline was new or changed
	failure   string // why the last one failed; empty if it did not
	permanent bool   // somebody has to do something about the failure
	refused   string // why nothing was written, though the pass ended well
	errors    int    // in the inputs
	first     string // of the errors
	held      int    // units that are held or left out
	failures  int    // in a row
}

// mayRun reports whether the pipeline is to be open.
func (p *pipeline) mayRun() bool {
	return p.mine && p.refused == "" && !p.removed && !p.def.Spec.Suspend
}

func (p *pipeline) name() string { return p.def.Metadata.Name }

// rollout is what holds the pipeline back. That of a pattern is meant for those made by it.
func (d *Definition) rollout() gitsync.Rollout {
	if d.Expand != nil {
		return gitsync.Rollout{}
	}
	return d.Spec.Rollout
}

func (p *pipeline) interval() time.Duration {
	if i := p.def.Spec.Interval; i != nil && i.Duration > 0 {
		return i.Duration
	}
	return gitsync.DefaultInterval
}

// instance is a pipeline that is open. What is of the passer belongs to who has its place in
// use; the rest is guarded by Fleet.mu.
type instance struct {
	passer
	use     slots     // one place
	members []member  // the remotes, each once
	output  *remote   // where it writes; nil for forEach
	tried   []moment  // what the last pass was made on; nil before the first
	size    int64     // after the last pass
	used    time.Time // when the last pass ended

	writing bool // the pass that is under way has a place among the writers of output
}

// member is a remote and the refs that a pipeline has there.
type member struct {
	remote *remote
	refs   []repo.Ref
}

// moment is what was known of a ref: its commit, zero if there is no such ref.
type moment struct {
	commit plumbing.Hash
	known  bool // false while the remote does not answer
}

// tips are the refs as they were listed last.
func (at *instance) tips() []moment {
	var out []moment
	for _, m := range at.members {
		for _, ref := range m.refs {
			commit, listed := m.remote.tips[ref]
			out = append(out, moment{commit, listed && m.remote.failures == 0})
		}
	}
	return out
}

// hasMoved reports whether a ref is not where it was for the last pass. One that is not known
// now has not; one that was not known then has.
func (at *instance) hasMoved() bool {
	if at.tried == nil {
		return false // the first pass is wanted anyway
	}
	for i, now := range at.tips() {
		if now.known && now != at.tried[i] {
			return true
		}
	}
	return false
}

// isListed reports whether enough is known for a pass: every ref, as it was at some moment
// after asked. What a failing remote knows is not waited for.
func (at *instance) isListed(asked time.Time) bool {
	for _, m := range at.members {
		if m.remote.failures > 0 || len(m.refs) == 0 {
			continue
		}
		if m.remote.listed.IsZero() || m.remote.listed.Before(asked) {
			return false
		}
		for _, ref := range m.refs {
			if _, ok := m.remote.tips[ref]; !ok {
				return false
			}
		}
	}
	return true
}

// since is the moment after which every remote was listed, well or not: a pass that builds on
// it asks nobody again, and waits for nobody who is silent.
func (at *instance) since() time.Time {
	since := time.Now()
	for _, m := range at.members {
		if l := m.remote.listed; !l.IsZero() && l.Before(since) {
			since = l
		}
	}
	return since
}

// next is the commit of a source that a pass would render now; empty if it is not known.
func (at *instance) next(src *gitsync.Source) string {
	want := sourceRef(*src)
	if want.Commit != "" {
		return want.Commit
	}
	want.Optional = true
	for _, m := range at.members {
		if gitsync.RepositoryAddress(m.remote.repo.URL()) != gitsync.RepositoryAddress(src.URL) || !slices.Contains(m.refs, want) {
			continue
		}
		if commit := m.remote.tips[want]; !commit.IsZero() {
			return commit.String()
		}
	}
	return ""
}

// pushed enters what a pass has pushed where the remote's next round will find it, so that
// the pipeline does not take its own commit for somebody else's.
func (at *instance) pushed(def *Definition, commit plumbing.Hash) {
	i := 0
	for _, m := range at.members {
		for _, ref := range m.refs {
			if m.remote == at.output && ref == outputRef(def) {
				at.tried[i] = moment{commit, true}
				m.remote.tips[ref] = commit
			}
			i++
		}
	}
}

// outputRef is the output branch as [gitsync.Syncer.Refs] has it.
func outputRef(def *Definition) repo.Ref {
	return repo.Ref{Name: "refs/heads/" + def.Spec.Output.Branch, Optional: true}
}
