package repo_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// counted serves a repository over http and counts listings and packs.
type counted struct {
	listed, packs atomic.Int32
	broken        atomic.Bool
}

func (c *counted) serve(g *gittest.Repo) (url string) {
	url, _ = g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet {
				c.listed.Add(1)
			} else if strings.HasSuffix(req.URL.Path, "upload-pack") {
				c.packs.Add(1)
			}
			if c.broken.Load() {
				http.Error(w, "come back later", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, req)
		})
	}})
	return url
}

func (c *counted) want(t *testing.T, what string, listed, packs int32) {
	t.Helper()
	if l, p := c.listed.Swap(0), c.packs.Swap(0); l != listed || p != packs {
		t.Errorf("%s: %d listings and %d packs, want %d and %d", what, l, p, listed, packs)
	}
}

func newPool(t *testing.T) *repo.Pool {
	t.Helper()
	p := repo.NewPool(t.TempDir(), repo.Options{})
	t.Cleanup(p.Close)
	return p
}

func fromPool(t *testing.T, p *repo.Pool, remote transport.Remote) *repo.Repo {
	t.Helper()
	r, err := p.Open(remote)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPoolsShare(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	open := func(url string, auth transport.Auth) *repo.Repo {
		return fromPool(t, p, transport.Remote{URL: url, Auth: auth})
	}
	one := open("https://Example.com/team/repo.git", transport.Auth{Password: "one"})
	for name, c := range map[string]struct {
		got  *repo.Repo
		same bool
	}{
		"another spelling": {open("https://example.com:443/team/repo/", transport.Auth{Password: "one"}),
			true},
		"whom it trusts, and how": {open("https://example.com/team/repo",
			transport.Auth{Password: "one", Connection: httpclient.Connection{ProxyURL: "http://proxy"}}), true},
		"another credential": {open("https://example.com/team/repo", transport.Auth{Password: "two"}), false},
		"another client's": {open("https://example.com/team/repo",
			transport.Auth{Password: "one", Username: "x"}), false},
		"another repository": {open("https://example.com/team/other", transport.Auth{Password: "one"}), false},
		"a credential of that name": {open("https://example.com/team/repo",
			transport.Auth{Password: "one", Identity: "team"}), false},
	} {
		if (c.got == one) != c.same {
			t.Errorf("%s: the same repository is %v", name, !c.same)
		}
	}
	rotated := open("https://example.com/team/repo", transport.Auth{Password: "three", Identity: "team"})
	if rotated != open("https://example.com/team/repo", transport.Auth{Password: "four", Identity: "team"}) {
		t.Error("a token that was renewed has another repository")
	}
}

func TestPoolsCountWhoHasARepository(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	p := newPool(t)
	a, b := fromPool(t, p, transport.Remote{URL: g.Dir}), fromPool(t, p, transport.Remote{URL: g.Dir})
	a.Close()
	tip := fetch(t, b, repo.Ref{})[0]
	wantFiles(t, reader(t, b), tip.Commit, map[string]string{"a.yaml": "1"})
	if again := fromPool(t, p, transport.Remote{URL: g.Dir}); again != b {
		t.Error("a repository that somebody has was closed")
	}
	for range 2 {
		b.Close()
	}
	c := fromPool(t, p, transport.Remote{URL: g.Dir})
	if c == b {
		t.Error("a closed repository is given out")
	}
	fetch(t, c, repo.Ref{})
}

// TestOneListingARound: callers with the same beginning of a round share one listing, and only missing objects are
// fetched.
func TestOneListingARound(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	first := g.Commit("main", map[string]string{"a.yaml": "1"})
	c := &counted{}
	url := c.serve(g)
	r := fromPool(t, newPool(t), transport.Remote{URL: url})
	round := func(since time.Time, want string, refs ...repo.Ref) {
		t.Helper()
		tips, err := r.FetchSince(testContext(t), since, refs...)
		if err != nil || tips[0].Commit.String() != want {
			t.Errorf("got %v, %v; want %s", tips, err, want)
		}
	}
	one := time.Now()
	round(one, first, repo.Ref{})
	c.want(t, "the first of a round", 1, 1)
	round(one, first, repo.Ref{})
	round(one, "0000000000000000000000000000000000000000", repo.Ref{Branch: "env", Optional: true})
	if _, err := r.FetchSince(testContext(t), one, repo.Ref{Branch: "nowhere"}); err == nil {
		t.Error("a ref that is not there was found")
	}
	c.want(t, "the others", 0, 0)

	second := g.Commit("main", map[string]string{"a.yaml": "2"})
	round(one, first, repo.Ref{})
	c.want(t, "who still is in that round", 0, 0)
	two := time.Now()
	round(two, second, repo.Ref{})
	c.want(t, "the next round", 1, 1)
	round(two, second, repo.Ref{})
	round(one, second, repo.Ref{})
	c.want(t, "the others of both", 0, 0)

	third := g.Commit("side", map[string]string{"b.yaml": "1"})
	var wg sync.WaitGroup
	since := time.Now()
	for range 8 {
		wg.Go(func() { round(since, third, repo.Ref{Branch: "side"}) })
	}
	wg.Wait()
	c.want(t, "eight at once", 1, 1)

	// A ref with objects that no other call of the round requested.
	other := g.Commit("other", map[string]string{"c.yaml": "1"})
	since = time.Now()
	round(since, second, repo.Ref{})
	c.want(t, "one ref", 1, 0)
	round(since, other, repo.Ref{Branch: "other"})
	c.want(t, "a ref with objects", 1, 1) // a session begins with its refs
}

func TestARoundSharesItsFailure(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	c := &counted{}
	url := c.serve(g)
	p := newPool(t)
	r := fromPool(t, p, transport.Remote{URL: url, Auth: transport.Auth{Password: "one", Identity: "x"}})
	c.broken.Store(true)
	since := time.Now()
	for range 3 {
		_, err := r.FetchSince(testContext(t), since, repo.Ref{})
		wantError(t, err, transport.ErrUnreachable, "come back later")
	}
	c.want(t, "three of a round", 1, 0)
	c.broken.Store(false)
	if _, err := r.FetchSince(testContext(t), time.Now(), repo.Ref{}); err != nil {
		t.Error(err)
	}
	c.want(t, "the next round", 1, 1)

	// A caller whose own context ended leaves no failed listing to the others.
	since = time.Now()
	gone, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := r.FetchSince(gone, since, repo.Ref{}); err == nil {
		t.Error("a fetch without time has succeeded")
	}
	if _, err := r.FetchSince(testContext(t), since, repo.Ref{}); err != nil {
		t.Error(err)
	}

	// A new credential needs a new listing.
	c.broken.Store(true)
	since = time.Now()
	_, err := r.FetchSince(testContext(t), since, repo.Ref{})
	wantError(t, err, transport.ErrUnreachable)
	c.broken.Store(false)
	if err := r.SetAuth(transport.Auth{Password: "two", Identity: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.FetchSince(testContext(t), since, repo.Ref{}); err != nil {
		t.Error(err)
	}
}

// TestPushesOfARound: each push sees what the one before has pushed, without a new listing.
func TestPushesOfARound(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	c := &counted{}
	url := c.serve(g)
	r := fromPool(t, newPool(t), transport.Remote{URL: url})
	p := pusher(t, r, transport.Auth{})
	since := time.Now()
	for _, name := range []string{"b.yaml", "c.yaml", "d.yaml"} {
		tips, err := r.FetchSince(testContext(t), since, repo.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		rd := reader(t, r)
		w := object.NewWriter(rd)
		next := commitOn(t, w, rd, tips[0], map[string]object.Edit{name: {Data: []byte("2")}})
		if err := p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: tips[0].Value, New: next}); err != nil {
			t.Fatal(err)
		}
	}
	c.want(t, "a fetch and three pushes", 1+3, 1)

	// After a lost race the refs are unknown.
	theirs := g.Commit("main", map[string]string{"e.yaml": "1"})
	tips, err := r.FetchSince(testContext(t), since, repo.Ref{})
	if err != nil || tips[0].Commit.String() == theirs {
		t.Fatalf("%v, %v", tips, err)
	}
	rd := reader(t, r)
	w := object.NewWriter(rd)
	lost := commitOn(t, w, rd, tips[0], map[string]object.Edit{"f.yaml": {Data: []byte("2")}})
	wantError(t, p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: tips[0].Value, New: lost}), repo.ErrLostRace)
	if tips, err = r.FetchSince(testContext(t), since, repo.Ref{}); err != nil || tips[0].Commit.String() != theirs {
		t.Errorf("got %v, %v; want %s", tips, err, theirs)
	}
}

// TestPushersAfterTheRepositoryHasAnotherCredential: Pushers keep their own credentials.
func TestPushersAfterTheRepositoryHasAnotherCredential(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{User: "git", Password: "right"})
	right, wrong := transport.Auth{Password: "right", Identity: "x"}, transport.Auth{Password: "wrong", Identity: "x"}
	s := start(t, transport.Remote{URL: url, Auth: right})
	if err := s.Repo.SetAuth(wrong); err != nil {
		t.Fatal(err)
	}
	if err := s.Push(testContext(t), s.w,
		repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")}); err != nil {
		t.Error(err)
	}
	_, err := s.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrAuth)
	s.Pusher.Close()
	if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.tip.Commit}); err == nil {
		t.Error("a closed pusher pushes")
	}
}

// TestTipsComeWithTheErrorOfTheirObjects: the caller learns which refs have moved, although the objects of one are too
// large.
func TestTipsComeWithTheErrorOfTheirObjects(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	want := g.Commit("main", map[string]string{"a.yaml": noise(t, 10_000)})
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{MaxObjectBytes: 1000})
	since := time.Now()
	for range 2 {
		tips, err := r.FetchSince(testContext(t), since, repo.Ref{})
		wantError(t, err, limit.ErrTooLarge)
		if len(tips) != 1 || tips[0].Commit.String() != want {
			t.Errorf("tips %v", tips)
		}
	}
}
