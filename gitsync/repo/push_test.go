package repo_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

const mainRef = "refs/heads/main"

// session is a Repo at the tip of a branch, with a Writer on top.
type session struct {
	*repo.Repo
	*repo.Pusher
	rd  *object.Reader
	w   *object.Writer
	tip repo.Tip
}

func start(t testing.TB, remote transport.Remote) *session {
	t.Helper()
	s := &session{Repo: open(t, remote, repo.Options{})}
	s.tip = fetch(t, s.Repo, repo.Ref{Optional: true})[0]
	s.Pusher = pusher(t, s.Repo, remote.Auth)
	s.rd = reader(t, s.Repo)
	s.w = object.NewWriter(s.rd)
	return s
}

// commit makes a commit that sets one file.
func (s *session) commit(t testing.TB, name, content string) plumbing.Hash {
	t.Helper()
	return commitOn(t, s.w, s.rd, s.tip, map[string]object.Edit{name: {Data: []byte(content)}})
}

func outcomes(t testing.TB, err error) map[string]string {
	t.Helper()
	pushErr, ok := errors.AsType[*repo.PushError](err)
	if !ok {
		t.Fatalf("got %v, want a PushError", err)
	}
	out := map[string]string{}
	for _, o := range pushErr.Refs {
		out[o.Ref] = fmt.Sprint(o.Err)
	}
	return out
}

func TestPushLosesTheRace(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	for name, remote := range remotes(t, g) {
		t.Run(name, func(t *testing.T) {
			s := start(t, remote)
			theirs := g.Commit("main", map[string]string{"b.yaml": name})
			update := repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "c.yaml", name)}
			err := s.Push(testContext(t), s.w, update)
			wantError(t, err, repo.ErrLostRace, mainRef, s.tip.Commit.String()[:10], theirs[:10])
			if got := g.Head("main"); got != theirs {
				t.Errorf("the ref was moved from %s to %s", theirs, got)
			}

			// The same Writer builds on the new tip; its earlier objects are not sent.
			lost := update.New
			s.tip = fetch(t, s.Repo, repo.Ref{})[0]
			update = repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "c.yaml", name)}
			if err := s.Push(testContext(t), s.w, update); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"a.yaml": "1", "b.yaml": name, "c.yaml": name}
			if diff := cmp.Diff(want, g.Files("main")); diff != "" {
				t.Error(diff)
			}
			if g.Has(lost.String()) {
				t.Error("the lost commit was sent")
			}
			g.Fsck()
		})
	}
}

// The remote moves between its advertisement and our push.
func TestPushLosesTheRaceInTheServer(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	theirs := g.Commit("side", map[string]string{"b.yaml": "2"})
	g.Hook("pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main "+theirs)
	for name, remote := range remotes(t, g) {
		t.Run(name, func(t *testing.T) {
			g.Git("update-ref", mainRef, "refs/heads/side~0")
			g.Commit("main", map[string]string{"a.yaml": "moved on " + name})
			s := start(t, remote)
			err := s.Push(testContext(t), s.w,
				repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "c.yaml", name)})
			wantError(t, err, repo.ErrLostRace)
			if got := g.Head("main"); got != theirs {
				t.Errorf("got %s, want %s", got, theirs)
			}
		})
	}
}

func TestConcurrentPushesHaveOneWinner(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	const writers = 4
	var sessions []*session
	var updates []repo.Update
	for i := range writers {
		s := start(t, transport.Remote{URL: url})
		sessions = append(sessions, s)
		updates = append(updates, repo.Update{Ref: mainRef, Old: s.tip.Commit,
			New: s.commit(t, "w.yaml", fmt.Sprint("writer ", i))})
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() {
			err := s.Push(testContext(t), s.w, updates[i])
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, repo.ErrLostRace) {
				t.Errorf("a loser got %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of %d writers won", won.Load(), writers)
	}
	if n := g.Git("rev-list", "--count", "main"); n != "2" {
		t.Errorf("the branch has %s commits", n)
	}
	g.Fsck()
}

func TestPushCreatesOnly(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	s := start(t, transport.Remote{URL: g.Dir})
	commit := s.commit(t, "b.yaml", "2")
	err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, New: commit})
	wantError(t, err, repo.ErrLostRace, "expected none")
	if g.Head("main") != old {
		t.Error("an existing branch was overwritten")
	}
	if err := s.Push(testContext(t), s.w, repo.Update{Ref: "refs/heads/new", New: commit}); err != nil {
		t.Fatal(err)
	}
	if g.Head("new") != commit.String() {
		t.Error("the new branch is not where it was put")
	}
}

func TestPushOfSeveralRefsMovesAllOrNone(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	g.Commit("other", map[string]string{"a.yaml": "1"})
	for name, remote := range remotes(t, g) {
		t.Run(name, func(t *testing.T) {
			s := start(t, remote)
			commit := s.commit(t, "b.yaml", name)
			updates := []repo.Update{
				{Ref: mainRef, Old: s.tip.Commit, New: commit},
				{Ref: "refs/heads/other", Old: s.tip.Commit, New: commit}, // stale
			}
			err := s.Push(testContext(t), s.w, updates...)
			wantError(t, err, repo.ErrLostRace)
			if diff := cmp.Diff(repo.ErrLostRace.Error(), outcomes(t, err)["refs/heads/other"]); diff != "" {
				t.Error(diff)
			}
			if g.Head("main") != old {
				t.Error("one of two refs was moved")
			}
		})
	}
}

// One ref of two is stale by the time the server looks.
func TestPushIsAtomicInTheServer(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	theirs := g.Commit("other", map[string]string{"a.yaml": "1"})
	moved := g.Commit("side", map[string]string{"a.yaml": "2"})
	g.Hook("pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/other "+moved)
	s := start(t, transport.Remote{URL: g.Dir})
	commit := s.commit(t, "b.yaml", "2")
	err := s.Push(testContext(t), s.w,
		repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit},
		repo.Update{Ref: "refs/heads/other", Old: plumbing.NewHash(theirs), New: commit})
	wantError(t, err, repo.ErrLostRace)
	want := map[string]string{mainRef: repo.ErrHeldBack.Error(), "refs/heads/other": repo.ErrLostRace.Error()}
	if diff := cmp.Diff(want, outcomes(t, err)); diff != "" {
		t.Error(diff)
	}
	if g.Head("main") != old {
		t.Error("one of two refs was moved")
	}
}

// A host that refuses notes refuses only the ref of the notes.
func TestPushTellsWhichRefIsRefused(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	g.Hook("update", `case "$1" in refs/notes/*) echo "no notes here"; exit 1;; esac`)
	for name, remote := range remotes(t, g) {
		t.Run(name, func(t *testing.T) {
			g.Git("update-ref", mainRef, old)
			s := start(t, remote)
			commit := s.commit(t, "b.yaml", name)
			branch := repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}
			err := s.Push(testContext(t), s.w, branch, repo.Update{Ref: "refs/notes/x", New: commit})
			wantError(t, err, repo.ErrRejected, "no notes here")
			want := map[string]string{mainRef: repo.ErrHeldBack.Error(), "refs/notes/x": repo.ErrRejected.Error()}
			if diff := cmp.Diff(want, outcomes(t, err)); diff != "" {
				t.Error(diff)
			}
			if err := s.Push(testContext(t), s.w, branch); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPushOfWhatIsThereIsDone(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	one, two := start(t, transport.Remote{URL: g.Dir}), start(t, transport.Remote{URL: g.Dir})
	for _, s := range []*session{one, two} { // two replicas make the same commit
		commit := s.commit(t, "b.yaml", "2")
		if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPushShowsTheWordsOfAHook(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	g.Hook("pre-receive", "echo 'no commits on Fridays'; echo 'ask the platform team' >&2; exit 1")
	all := remotes(t, g)
	all["ssh"] = sshRemote(gittest.NewSSH(t), g)
	for name, remote := range all {
		t.Run(name, func(t *testing.T) {
			s := start(t, remote)
			err := s.Push(testContext(t), s.w,
				repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")})
			wantError(t, err, repo.ErrRejected, "pre-receive hook declined", "no commits on Fridays",
				"ask the platform team")
			if errors.Is(err, repo.ErrLostRace) || errors.Is(err, transport.ErrUnreachable) {
				t.Errorf("a refusal is also another outcome: %v", err)
			}
		})
	}
}

func TestPushWithoutPermission(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{ReadOnly: true})
	s := start(t, transport.Remote{URL: url})
	err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")})
	wantError(t, err, repo.ErrRejected, "403", "you may not push here")
	wantError(t, err, transport.ErrAuth)
}

func TestPushHasACredentialOfItsOwn(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	var users sync.Map
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			user, _, _ := req.BasicAuth()
			users.Store(user+" "+req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:], true)
			next.ServeHTTP(w, req)
		})
	}})
	s := start(t, transport.Remote{URL: url, Auth: transport.Auth{Username: "r", Password: "x"}})
	s.Pusher = pusher(t, s.Repo, transport.Auth{Username: "w", Password: "y"})
	err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"r git-upload-pack", "w git-receive-pack"} {
		if _, ok := users.Load(want); !ok {
			t.Errorf("there was no request of %q", want)
		}
	}
}

// The response is lost after the server has moved the ref.
func TestPushDecidesByValueWhenTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/git-receive-pack") {
				next.ServeHTTP(discard{w.Header()}, req)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		})
	}})
	s := start(t, transport.Remote{URL: url})
	commit := s.commit(t, "b.yaml", "2")
	if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}); err != nil {
		t.Fatal(err)
	}
	if g.Head("main") != commit.String() {
		t.Error("the ref was not moved")
	}
}

// discard is a ResponseWriter that discards the response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func TestPushToARemoteThatBreaksOff(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	old := g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/git-receive-pack") {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		})
	}})
	s := start(t, transport.Remote{URL: url})
	err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")})
	wantError(t, err, transport.ErrUnreachable)
	if g.Head("main") != old {
		t.Error("the ref was moved")
	}
}

func TestPushOfMissingObjectsIsRejected(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	for name, remote := range remotes(t, g) {
		t.Run(name, func(t *testing.T) {
			s := start(t, remote)
			tree := plumbing.NewHash(strings.Repeat("12", 20)) // does not exist
			commit, err := s.w.Commit(object.CommitOptions{Tree: tree, Author: ann(), Committer: ann(), Message: "x"})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Push(testContext(t), s.w, repo.Update{Ref: "refs/heads/" + name, New: commit})
			wantError(t, err, repo.ErrRejected, "missing")
		})
	}
}

func TestPushedCommitsNeedNoFetch(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	counter := &countPacks{}
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: counter.wrap})
	s := start(t, transport.Remote{URL: url})
	commit := s.commit(t, "b.yaml", "2")
	if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}); err != nil {
		t.Fatal(err)
	}
	packs := counter.count()
	tip := fetch(t, s.Repo, repo.Ref{})[0]
	wantFiles(t, reader(t, s.Repo), tip.Commit, map[string]string{"a.yaml": "1", "b.yaml": "2"})
	if counter.count() != packs {
		t.Error("a pack was fetched")
	}
}

func TestPushRefusesBadUpdates(t *testing.T) {
	t.Parallel()
	s := start(t, transport.Remote{URL: gittest.NewRepo(t).Dir})
	commit := s.commit(t, "b.yaml", "2")
	for _, updates := range [][]repo.Update{
		nil,
		{{Ref: "main", New: commit}},
		{{Ref: "refs/heads/a b", New: commit}},
		{{Ref: mainRef}},
	} {
		if err := s.Push(testContext(t), s.w, updates...); err == nil {
			t.Errorf("updates %v were accepted", updates)
		}
	}
}

func TestNotesAreReadByGit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	var commits []string
	for i := range 3 {
		commits = append(commits, g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)}))
	}
	const ref = "refs/notes/hydrator.metadata"
	g.Git("notes", "--ref", "hydrator.metadata", "add", "-m", "by git", commits[0])
	s := start(t, transport.Remote{URL: g.Dir})
	for round, text := range []string{`{"drySha":"1"}`, `{"drySha":"2"}`} {
		tip := fetch(t, s.Repo, repo.Ref{Name: ref})[0]
		s.rd = reader(t, s.Repo)
		s.w = object.NewWriter(s.rd)
		notes, err := s.rd.Commit(tip.Commit)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := s.w.AddNote(notes.Tree, s.tip.Commit, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		commit, err := s.w.Commit(object.CommitOptions{
			Tree: tree, Parents: []plumbing.Hash{tip.Commit}, Author: ann(), Committer: ann(), Message: "note\n",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Push(testContext(t), s.w, repo.Update{Ref: ref, Old: tip.Commit, New: commit}); err != nil {
			t.Fatal(err)
		}
		for want, of := range map[string]string{text: s.tip.Commit.String(), "by git": commits[0]} {
			if got := g.Git("notes", "--ref", "hydrator.metadata", "show", of); got != want {
				t.Errorf("round %d: the note of %s is %q, want %q", round, of, got, want)
			}
		}
	}
	g.Fsck()
}
