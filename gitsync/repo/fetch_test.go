package repo_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// countPacks counts the requests for packs that reach a server.
type countPacks struct {
	mu    sync.Mutex
	packs int
}

func (c *countPacks) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/git-upload-pack") {
			c.mu.Lock()
			c.packs++
			c.mu.Unlock()
		}
		next.ServeHTTP(w, req)
	})
}

func (c *countPacks) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.packs
}

// A shallow clone must tell the server that it is one. Otherwise the server does not send what a revert restores, and a
// second clone is needed.
func TestFetchBringsBackWhatARevertRestores(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "first", "b.yaml": "stays"})
	g.Commit("main", map[string]string{"a.yaml": "second"})
	g.Git("repack", "-adbq") // With bitmaps, the server omits everything that it assumes we have.
	counter := &countPacks{}
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: counter.wrap})
	r := open(t, transport.Remote{URL: url}, repo.Options{Depth: 1})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": "first"})
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "first", "b.yaml": "stays"})
	if n := counter.count(); n != 2 {
		t.Errorf("%d packs were fetched, want 2", n)
	}
}

func TestFetchFollowsForcedBranches(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	for i := range 20 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)})
	}
	counter := &countPacks{}
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: counter.wrap})
	r := open(t, transport.Remote{URL: url}, repo.Options{Depth: 4})
	fetch(t, r, repo.Ref{})

	// The branch goes back to a commit that is in the cache.
	g.Git("update-ref", "refs/heads/main", "refs/heads/main~2")
	packs := counter.count()
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "17"})
	if got := counter.count(); got != packs {
		t.Errorf("%d packs were fetched for a commit that is in the cache", got-packs)
	}

	// The branch goes back beyond the shallow boundary, and then forward in another way.
	g.Git("update-ref", "refs/heads/main", "refs/heads/main~10")
	g.Commit("main", map[string]string{"b.yaml": "new"})
	tip = fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "7", "b.yaml": "new"})
}

func TestFetchTakesMergesOfOldBranches(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "0"})
	g.Git("branch", "old", "main")
	for i := range 10 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)})
	}
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{Depth: 2})
	fetch(t, r, repo.Ref{})
	g.Commit("old", map[string]string{"old.yaml": "o"})
	tree := g.Git("merge-tree", "--write-tree", "main", "old")
	merge := g.Git("commit-tree", "-p", "main", "-p", "old", "-m", "merge", tree)
	g.Git("update-ref", "refs/heads/main", merge)
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "9", "old.yaml": "o"})
}

func TestFetchClonesAgainAboveTheByteLimit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{MaxFetchBytes: 1})
	first := fetch(t, r, repo.Ref{})[0]
	before := reader(t, r)
	g.Commit("main", map[string]string{"a.yaml": "2"})
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "2"})
	// A Reader of the old cache can still read its objects.
	wantFiles(t, before, first.Commit, map[string]string{"a.yaml": "1"})
}

func TestFetchRefusesTooLargeClones(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{MaxCloneBytes: 100})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, limit.ErrTooLarge, "100 bytes")
}

// A large file of equal bytes makes a small pack.
func TestFetchRefusesObjectsThatUnpackTooLarge(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a", 1_000)})
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{MaxObjectBytes: 1_000})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a", 1_001)})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, limit.ErrTooLarge, "1001 bytes")

	// A large file that is a delta of a file within the limit.
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("0123456789", 90),
		"b.yaml": strings.Repeat("0123456789", 150)})
	g.Git("repack", "-adfq")
	_, err = r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, limit.ErrTooLarge)
}

func TestFetchOfEmptyRepositories(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"file", "http"} {
		t.Run(scheme, func(t *testing.T) {
			g := gittest.NewRepo(t)
			r := open(t, remotes(t, g)[scheme], repo.Options{})
			_, err := r.Fetch(testContext(t), repo.Ref{})
			wantError(t, err, repo.ErrEmptyRepository)
			tip := fetch(t, r, repo.Ref{Branch: "out", Optional: true})[0]
			if tip.Exists() || tip.Ref != "refs/heads/out" {
				t.Errorf("got %+v for a branch that does not exist", tip)
			}

			// The first commit goes into the empty repository.
			rd := reader(t, r)
			w := object.NewWriter(rd)
			commit := commitOn(t, w, rd, tip, map[string]object.Edit{"a.yaml": {Data: []byte("1")}})
			if err := pusher(t, r, transport.Auth{}).Push(testContext(t), w,
				repo.Update{Ref: tip.Ref, New: commit}); err != nil {
				t.Fatal(err)
			}
			g.Fsck()
			tip = fetch(t, r, repo.Ref{Branch: "out"})[0]
			wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "1"})
		})
	}
}

func TestFetchOfCommitsByHash(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	var commits []string
	for i := range 12 {
		commits = append(commits, g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)}))
	}
	for _, allowed := range []string{"true", "false"} {
		t.Run("allowed "+allowed, func(t *testing.T) {
			g.Git("config", "uploadpack.allowReachableSHA1InWant", allowed)
			for name, remote := range remotes(t, g) {
				t.Run(name, func(t *testing.T) {
					r := open(t, remote, repo.Options{Depth: 2})
					fetch(t, r, repo.Ref{})
					tip := fetch(t, r, repo.Ref{Commit: commits[3]})[0]
					wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "3"})

					// A fetch into an empty cache, with the branch to search.
					r = open(t, remote, repo.Options{Depth: 2})
					tip = fetch(t, r, repo.Ref{Commit: commits[4], Branch: "main"})[0]
					wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "4"})

					_, err := r.Fetch(testContext(t), repo.Ref{Commit: strings.Repeat("12", 20)})
					wantError(t, err, transport.ErrRefNotFound, "1212121212")
				})
			}
		})
	}
}

func TestFetchOfAPresentCommitNeedsNoRemote(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	commit := g.Commit("main", map[string]string{"a.yaml": "1"})
	dir := t.TempDir()
	fetch(t, openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{}), repo.Ref{})
	if err := os.RemoveAll(g.Dir); err != nil {
		t.Fatal(err)
	}
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{Commit: commit})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "1"})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrRepositoryNotFound)
}

func TestFetchOfSeveralRefsAtOnce(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "main"})
	g.Commit("other", map[string]string{"a.yaml": "other"})
	g.Git("tag", "-a", "-m", "release", "v1.2.0", "main")
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": "main 2"})
	tips := fetch(t, r, repo.Ref{}, repo.Ref{Branch: "other"}, repo.Ref{Tag: "v1.2.0"},
		repo.Ref{Branch: "none", Optional: true})
	rd := reader(t, r)
	for i, want := range []string{"main 2", "other", "main"} {
		wantFiles(t, rd, tips[i].Commit, map[string]string{"a.yaml": want})
	}
	if tips[2].Value == tips[2].Commit {
		t.Error("the value of an annotated tag is its commit")
	}
	if tips[3].Exists() {
		t.Error("a branch that does not exist does")
	}
}

// Four goroutines on one go-git repository read wrong bytes.
func TestReadersWorkWhileFetchesGoOn(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	content := map[string]string{}
	for i := range 50 {
		content[fmt.Sprintf("d%d/f%d.yaml", i%5, i)] = strings.Repeat(fmt.Sprint(i), 200)
	}
	g.Commit("main", content)
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{MaxPacks: 3})
	tip := fetch(t, r, repo.Ref{})[0]
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				rd := r.Reader()
				if !rd.Has(tip.Commit) {
					// The cache was cloned again; the old tip is history then.
					rd.Close()
					continue
				}
				if got := files(t, rd, tip.Commit); len(got) < 50 {
					t.Errorf("read %d files", len(got))
				}
				rd.Close()
			}
		})
	}
	for i := range 8 {
		g.Commit("main", map[string]string{"n.yaml": fmt.Sprint(i)})
		fetch(t, r, repo.Ref{})
	}
	wg.Wait()
}

func TestBlobLimit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "12345"})
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{})[0]
	rd := reader(t, r)
	h := lookup(t, rd, tip, "a.yaml").Hash
	if data, err := rd.Blob(h, 5); err != nil || string(data) != "12345" {
		t.Errorf("at the limit: %q, %v", data, err)
	}
	_, err := rd.Blob(h, 4)
	wantError(t, err, limit.ErrTooLarge)
	_, err = rd.Blob(plumbing.NewHash("12"), 0)
	wantError(t, err, object.ErrNotFound)
	_, err = rd.Blob(tip.Commit, 0)
	wantError(t, err, object.ErrNotFound)
	_, err = rd.Lookup(plumbing.ZeroHash, "x")
	wantError(t, err, object.ErrPathNotFound)
}
