package gitsync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
)

// newPromotion is a lab whose pipeline proposes.
func newPromotion(t *testing.T) *lab {
	t.Helper()
	r := newGitLab(t)
	r.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
	return r
}

// refs are the refs of the remote besides main, and what they point to.
func (r *lab) refs() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(r.repo.Git("for-each-ref", "--format=%(refname) %(objectname)")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "refs/heads/main" {
			out[name] = id
		}
	}
	return out
}

func names(refs map[string]string) []string {
	var out []string
	for name := range refs {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "heads/"))
	}
	slices.Sort(out)
	return out
}

// drySHA is what a commit says that it was rendered from.
func (r *lab) drySHA(commit, path string) string {
	r.t.Helper()
	var h struct{ DrySHA string }
	if err := json.Unmarshal([]byte(r.repo.Git("show", commit+":"+path+"hydrator.metadata")), &h); err != nil {
		r.t.Fatal(err)
	}
	return h.DrySHA
}

// note is the drySha of a commit's note.
func (r *lab) note(commit string) string {
	r.t.Helper()
	var h struct{ DrySHA string }
	text := r.repo.Git("notes", "--ref", "hydrator.metadata", "show", commit)
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		r.t.Fatal(err)
	}
	return h.DrySHA
}

// merge promotes what is proposed as a forge does.
func (r *lab) merge(proposed string, squash bool) string {
	r.t.Helper()
	dir := r.repo.Checkout("env")
	if squash {
		dir.Git("merge", "-q", "--squash", "origin/"+proposed)
		dir.Git("commit", "-q", "-m", "Promote")
	} else {
		dir.Git("merge", "-q", "--no-ff", "-m", "Promote", "origin/"+proposed)
	}
	dir.Git("push", "-q", "origin", "env")
	return dir.Git("rev-parse", "HEAD")
}

// proposes checks that the report and the remote agree on an open proposal, which is one
// commit on top of the output branch, up to date with the branch of inputs.
func (r *lab) proposes(report *gitsync.Report) string {
	r.t.Helper()
	p := report.Proposed
	if !p.Open() {
		r.t.Fatalf("nothing is proposed: %+v %v", p, report.Diags)
	}
	branch := r.pipeline.Spec.Output.ProposedBranch()
	if tip := r.repo.Git("rev-parse", branch); tip != p.Commit || p.Branch != branch {
		r.t.Fatalf("%s is at %s, the report says %s of %s", branch, tip, p.Commit, p.Branch)
	}
	if parents := r.repo.Git("log", "-1", "--format=%P", p.Commit); parents != r.repo.Git("rev-parse", "env") ||
		parents != p.Base {
		r.t.Fatalf("the proposal is on top of %s, the branch is at %s, the report says %s", parents,
			r.repo.Git("rev-parse", "env"), p.Base)
	}
	if report.Commit != "" {
		r.t.Errorf("%s was committed to the branch itself", report.Commit)
	}
	if message := r.repo.Git("log", "-1", "--format=%B", p.Commit); message != strings.TrimSpace(p.Message) {
		r.t.Errorf("the report's message is %q, the commit's %q", p.Message, message)
	}
	r.isCurrent(report)
	return p.Commit
}

// isCurrent checks that the note names the newest inputs, and these what was read.
func (r *lab) isCurrent(report *gitsync.Report) {
	r.t.Helper()
	inputs := r.repo.Git("rev-parse", "agentry/inputs")
	if report.Proposed.DrySHA != inputs || r.note(report.Proposed.Commit) != inputs {
		r.t.Errorf("the inputs are at %s, the report says %s, the note %s", inputs, report.Proposed.DrySHA,
			r.note(report.Proposed.Commit))
	}
	lock := r.repo.Git("show", "agentry/inputs:"+report.Pipeline+".lock")
	for _, s := range report.Sources {
		if !strings.Contains(lock, s.Commit) {
			r.t.Errorf("the lock file does not name %s:\n%s", s.Commit, lock)
		}
	}
}

// settled checks that there is nothing to propose.
func (r *lab) settled(report *gitsync.Report) {
	r.t.Helper()
	if report.Proposed.Open() || r.repo.Git("rev-parse", "env") != r.repo.Git("rev-parse", report.Proposed.Branch) {
		r.t.Fatalf("something is proposed: %+v", report.Proposed)
	}
	r.isCurrent(report)
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	for _, squash := range []bool{false, true} {
		t.Run(fmt.Sprintf("squash %v", squash), func(t *testing.T) {
			t.Parallel()
			r := newPromotion(t)
			s := r.syncer()
			source := r.input(twoTeams())

			// There is no branch to promote to: it is made, without a manifest.
			first := r.proposes(r.passOf(s))
			if files := strings.Fields(r.repo.Git("ls-tree", "-r", "--name-only", "env")); !slices.Equal(files,
				[]string{".agentry/inventory", ".agentry/units", ".gitattributes", "README.md"}) {
				t.Errorf("the new branch has %v", files)
			}
			if diff := cmp.Diff([]string{"agentry/inputs", "env", "env-next", "notes/hydrator.metadata"},
				names(r.refs())); diff != "" {
				t.Error(diff)
			}
			if r.drySHA(first, "") != r.repo.Git("rev-parse", "agentry/inputs") {
				t.Error("drySha is not the commit of the inputs")
			}
			var meta struct {
				References []struct{ Commit struct{ SHA, Subject string } }
			}
			if err := json.Unmarshal([]byte(r.repo.Git("show", first+":hydrator.metadata")),
				&meta); err != nil || len(meta.References) != 1 || meta.References[0].Commit.SHA != source {
				t.Errorf("references %+v, %v", meta.References, err)
			}

			// Again, and with nothing remembered: not a byte is pushed.
			before := r.refs()
			r.proposes(r.passOf(s))
			r.options.CacheDir = t.TempDir()
			r.proposes(r.pass())
			if diff := cmp.Diff(before, r.refs()); diff != "" {
				t.Error(diff)
			}

			// Merged: nothing is left, and the next change is proposed on top.
			r.merge("env-next", squash)
			r.settled(r.passOf(s))
			r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
			second := r.proposes(r.passOf(s))

			// Another change replaces it; one that changes nothing leaves it alone.
			r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "three")})
			third := r.proposes(r.passOf(s))
			config := r.repo.Git("show", third+":a/agent/agent-config.secret.yaml")
			if third == second || !strings.Contains(config, "three") {
				t.Error("the newer change is not proposed")
			}
			r.input(map[string]string{"README.md": "words"})
			if r.proposes(r.passOf(s)) != third || r.drySHA(third, "") == r.repo.Git("rev-parse", "agentry/inputs") {
				t.Error("what is proposed moved for nothing")
			}

			// The change is taken back: nothing is to be promoted any more.
			r.input(twoTeams())
			r.settled(r.passOf(s))
			r.repo.Fsck()
		})
	}
}

// TestPromotionAgainstOthers holds what becomes of branches that others touch.
func TestPromotionAgainstOthers(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*lab, *gitsync.Syncer) {
		r := newPromotion(t)
		s := r.syncer()
		r.input(twoTeams())
		r.passOf(s)
		r.merge("env-next", false)
		r.settled(r.passOf(s))
		return r, s
	}
	t.Run("the output branch is changed by hand", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.repo.Commit("env", map[string]string{"a/agent/agent.statefulset.yaml": "edited"})
		commit := r.proposes(r.passOf(s))
		if r.drySHA(commit, "") == r.drySHA("env", "") {
			t.Error("drySha is that of the output branch: nobody promotes it")
		}
		r.proposes(r.passOf(s))
		r.merge("env-next", true)
		r.settled(r.passOf(s))
		r.repo.Commit("env", map[string]string{"a/agent/agent.statefulset.yaml": "edited again"})
		if again := r.proposes(r.passOf(s)); r.drySHA(again, "") == r.drySHA("env", "") {
			t.Error("drySha is that of the output branch: nobody promotes it")
		}
	})
	t.Run("the promotion is reverted", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
		r.proposes(r.passOf(s))
		r.merge("env-next", true)
		r.settled(r.passOf(s))
		dir := r.repo.Checkout("env")
		dir.Git("revert", "--no-edit", "HEAD")
		dir.Git("push", "-q", "origin", "env")
		if commit := r.proposes(r.passOf(s)); r.drySHA(commit, "") == r.drySHA("env", "") {
			t.Error("drySha is that of the output branch: nobody promotes it")
		}
	})
	t.Run("the proposed branch is changed by hand", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
		r.proposes(r.passOf(s))
		dir := r.repo.Checkout("env-next")
		dir.Git("commit", "-q", "--allow-empty", "-m", "by hand")
		dir.Git("push", "-q", "origin", "env-next")
		r.proposes(r.passOf(s))
		dir.Git("reset", "-q", "--hard", "HEAD~1")
		dir.Git("rm", "-q", "a/agent/agent.statefulset.yaml")
		dir.Git("commit", "-q", "--amend", "-m", "with another payload")
		dir.Git("push", "-q", "-f", "origin", "env-next")
		commit := r.proposes(r.passOf(s))
		r.repo.Git("cat-file", "-e", commit+":a/agent/agent.statefulset.yaml")
	})
	t.Run("the proposed branch is deleted", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.repo.Git("update-ref", "-d", "refs/heads/env-next")
		r.settled(r.passOf(s))
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
		commit := r.proposes(r.passOf(s))
		r.repo.Git("update-ref", "-d", "refs/heads/env-next")
		if r.proposes(r.passOf(s)) != commit {
			t.Error("another commit is proposed for the same change")
		}
	})
	t.Run("the branch of inputs is deleted", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.repo.Git("update-ref", "-d", "refs/heads/agentry/inputs")
		r.settled(r.passOf(s))
	})
	t.Run("the output branch is deleted", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.repo.Git("update-ref", "-d", "refs/heads/env")
		r.proposes(r.passOf(s))
	})
	t.Run("the output branch moves on", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
		r.proposes(r.passOf(s))
		r.repo.Commit("env", map[string]string{"theirs.txt": "words"})
		commit := r.proposes(r.passOf(s))
		if r.repo.Git("show", commit+":theirs.txt") != "words" {
			t.Error("somebody's file is gone")
		}
	})
}

// TestPathsOfOneBranch promotes two pipelines apart that share an output branch: each has a
// branch of its own below BRANCH-next, and neither undoes the other's.
func TestPathsOfOneBranch(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	a, b := r.apart("a"), r.apart("b")
	first := a.proposes(a.pass())
	b.proposes(b.pass())
	if diff := cmp.Diff([]string{"agentry/inputs", "env", "env-next/apps/a", "env-next/apps/b",
		"notes/hydrator.metadata"}, names(r.refs())); diff != "" {
		t.Error(diff)
	}
	// The inputs of b are newer: the note says that they are known for a as well.
	if a.proposes(a.pass()) != first || a.drySHA(first, "apps/a/") == a.note(first) {
		t.Error("what a proposes moved with the inputs of b, or its note did not")
	}
	r.merge("env-next/apps/a", false)
	a.settled(a.pass())
	b.proposes(b.pass())
	r.merge("env-next/apps/b", true)
	b.settled(b.pass())
	a.settled(a.pass())
	r.repo.Git("cat-file", "-e", "env:apps/a/a/agent/agent.statefulset.yaml")
	r.repo.Git("cat-file", "-e", "env:apps/b/b/agent/agent.statefulset.yaml")
	// Both move at once, and are merged one after the other.
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two"),
		"in/b/web.yaml": monitor("b", "web", "two")})
	a.proposes(a.pass())
	b.proposes(b.pass())
	r.merge("env-next/apps/a", false)
	r.merge("env-next/apps/b", false)
	for _, one := range []*lab{a, b} {
		one.settled(one.pass())
	}
	for _, name := range []string{"a", "b"} {
		if !strings.Contains(r.file("apps/"+name+"/"+name+"/agent/agent-config.secret.yaml"), "two") {
			t.Errorf("the change of %s is gone", name)
		}
	}
}

// TestDrySHAMoves holds that what is proposed names other inputs whenever anything that it is
// rendered from is another.
func TestDrySHAMoves(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*lab, *lab) {
		r, other := newPromotion(t), newGitLab(t)
		other.input(map[string]string{"in/c/agent.yaml": agent("c"), "in/c/web.yaml": monitor("c", "web", "http")})
		r.pipeline.Spec.Sources = append(r.pipeline.Spec.Sources, other.pipeline.Spec.Sources[0])
		r.pipeline.Spec.Output.URL = "file://" + r.repo.Dir
		r.creds.Sources = make([]transport.Auth, 2)
		r.input(twoTeams())
		r.proposes(r.pass())
		r.merge("env-next", false)
		r.settled(r.pass())
		return r, other
	}
	for name, change := range map[string]func(r, other *lab){
		"the second source": func(_, other *lab) {
			other.input(map[string]string{"in/c/web.yaml": monitor("c", "web", "two")})
		},
		"the specification": func(r, _ *lab) { r.pipeline.Spec.Sources[0].Paths = []string{"in/a"} },
		"the version and what it makes of it": func(r, _ *lab) {
			r.options.Version = "v0.0.1-test"
			r.repo.Commit("env", map[string]string{"a/agent/agent.statefulset.yaml": "as an older version had it"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, other := start(t)
			before := r.drySHA("env", "")
			change(r, other)
			commit := r.proposes(r.pass())
			if r.drySHA(commit, "") == before {
				t.Errorf("drySha is %s still", before)
			}
			message := r.repo.Git("log", "-1", "--format=%B", r.drySHA(commit, ""))
			for _, source := range []string{r.repo.Head("main"), other.repo.Head("main")} {
				if !strings.Contains(message, "Agentry-Source-Commit: "+source) {
					t.Errorf("%s is not in the message:\n%s", source, message)
				}
			}
		})
	}
	for name, change := range map[string]func(r *lab){
		"when it is polled": func(r *lab) {
			r.pipeline.Spec.Interval = &metav1.Duration{Duration: time.Hour}
		},
		"a version that makes it equally": func(r *lab) { r.options.Version = "v0.0.1-test" },
	} {
		t.Run("not with "+name, func(t *testing.T) {
			t.Parallel()
			r, _ := start(t)
			before := r.refs()
			change(r)
			r.settled(r.pass())
			if diff := cmp.Diff(before, r.refs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProposalStaysWhileASourceIsAway holds that an outage takes nothing back.
func TestProposalStaysWhileASourceIsAway(t *testing.T) {
	t.Parallel()
	r, other := newPromotion(t), newGitLab(t)
	other.input(map[string]string{"in/c/agent.yaml": agent("c"), "in/c/web.yaml": monitor("c", "web", "http")})
	r.pipeline.Spec.Sources = append(r.pipeline.Spec.Sources, other.pipeline.Spec.Sources[0])
	r.pipeline.Spec.Output.URL = "file://" + r.repo.Dir
	r.creds.Sources = make([]transport.Auth, 2)
	r.input(twoTeams())
	s := r.syncer()
	r.proposes(r.passOf(s))
	r.merge("env-next", false)
	r.settled(r.passOf(s))
	other.input(map[string]string{"in/c/web.yaml": monitor("c", "web", "two")})
	commit := r.proposes(r.passOf(s))
	other.repo.Git("update-ref", "-d", "refs/heads/main")
	report := r.passOf(s)
	if r.proposes(report) != commit || !report.Sources[1].Stale {
		t.Errorf("%+v", report.Proposed)
	}
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "three")})
	next := r.proposes(r.passOf(s))
	if !strings.Contains(r.repo.Git("show", next+":c/agent/agent-config.secret.yaml"), "two") {
		t.Error("the change of the source that is away is taken back")
	}
}

// TestDryRunProposesNothing leaves every ref where it is.
func TestDryRunProposesNothing(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	r.options.DryRun = true
	report := r.pass()
	if refs := r.refs(); len(refs) > 0 || report.Proposed.Open() || len(report.Changes) == 0 {
		t.Errorf("%v %+v", refs, report.Proposed)
	}
}

// TestNoNameOfABranch refuses a path that cannot be part of one.
func TestNoNameOfABranch(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a path", "apps/a.lock", "a..b"} {
		r := newPromotion(t)
		r.pipeline.Spec.Output.Path = path
		r.pipeline.Default()
		if _, err := gitsync.New(r.pipeline, r.creds, r.options); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestNotesOfPipelinesThatLeaveArePushed pushes what waits for others when there is nobody to wait for.
func TestNotesOfPipelinesThatLeaveArePushed(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.options.Batches = publish.NewBatches(time.Hour)
	r.input(twoTeams())
	s := r.syncer()
	report := r.passOf(s)
	if slices.Contains(names(r.refs()), "notes/hydrator.metadata") {
		t.Fatal("the note did not wait")
	}
	if err := s.SetCredentials(r.creds); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r.isCurrent(report)
}

// TestProposalsWithHeldObjects stand like others: what is held is told, and makes no commit.
func TestProposalsWithHeldObjects(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	r.pass()
	r.merge("env-next", false)
	r.settled(r.pass())
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "[]"),
		"in/b/web.yaml": monitor("b", "web", "two")})
	commit := r.proposes(r.pass())
	if held := r.repo.Git("ls-tree", "-r", "--name-only", commit, ".agentry/held"); held == "" {
		t.Fatal("nothing is held")
	}
	r.input(map[string]string{"README.md": "words"})
	if r.proposes(r.pass()) != commit {
		t.Error("another commit is proposed for nothing")
	}
}

// TestForgedLockFile holds that whoever may write the branch of inputs cannot have a commit
// rendered that nobody signed.
func TestForgedLockFile(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	file, key := keyFile(t)
	r.creds.Verify = []signature.Keyring{{AllowedSigners: []byte("ann@example.com " + key + "\n")}}
	base := r.signed(sshSigner(t, file), twoTeams())
	r.proposes(r.pass())
	r.merge("env-next", false)
	r.settled(r.pass())
	evil := r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "evil")})
	lock := r.repo.Git("show", "agentry/inputs:test.lock") + "\n"
	forged := strings.Replace(lock, base, evil, 1)
	if forged == lock {
		t.Fatalf("the lock file does not name %s:\n%s", base, lock)
	}
	r.repo.Commit("agentry/inputs", map[string]string{"test.lock": forged})
	report := r.pass()
	r.settled(report)
	if report.Sources[0].Commit != base || !report.Sources[0].Stale {
		t.Errorf("%+v", report.Sources)
	}
}
