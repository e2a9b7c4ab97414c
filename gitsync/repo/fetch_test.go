package repo_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/gittest"
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

// A shallow clone that does not tell the server that it is one is not sent what
// a revert brings back (trap T1). That would be noticed and cost a second clone.
func TestFetchBringsBackWhatARevertRestores(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "first", "b.yaml": "stays"})
	g.Commit("main", map[string]string{"a.yaml": "second"})
	g.Git("repack", "-adbq") // With bitmaps the server leaves out all that it thinks we have.
	counter := &countPacks{}
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: counter.wrap})
	r := open(t, repo.Remote{URL: url}, repo.Options{Depth: 1})
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
	r := open(t, repo.Remote{URL: url}, repo.Options{Depth: 4})
	fetch(t, r, repo.Ref{})

	// Back to what is here already.
	g.Git("update-ref", "refs/heads/main", "refs/heads/main~2")
	packs := counter.count()
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "17"})
	if got := counter.count(); got != packs {
		t.Errorf("%d packs were fetched for a commit that is in the cache", got-packs)
	}

	// Back beyond the boundary, and on another way forward.
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
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{Depth: 2})
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
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{MaxFetchBytes: 1})
	first := fetch(t, r, repo.Ref{})[0]
	before := reader(t, r)
	g.Commit("main", map[string]string{"a.yaml": "2"})
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "2"})
	// A Reader of the old cache still reads what it saw.
	wantFiles(t, before, first.Commit, map[string]string{"a.yaml": "1"})
}

func TestFetchRefusesTooLargeClones(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{MaxCloneBytes: 100})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, repo.ErrTooLarge, "100 bytes")
}

// Much of nothing packs well.
func TestFetchRefusesObjectsThatUnpackTooLarge(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a", 1_000)})
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{MaxObjectBytes: 1_000})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a", 1_001)})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, repo.ErrTooLarge, "1001 bytes")

	// As a delta against a file of the right size.
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("0123456789", 90), "b.yaml": strings.Repeat("0123456789", 150)})
	g.Git("repack", "-adfq")
	_, err = r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, repo.ErrTooLarge)
}

func TestFetchOfEmptyRepositories(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"file", "http"} {
		t.Run(transport, func(t *testing.T) {
			g := gittest.NewRepo(t)
			r := open(t, remotes(t, g)[transport], repo.Options{})
			_, err := r.Fetch(testContext(t), repo.Ref{})
			wantError(t, err, repo.ErrEmptyRepository)
			tip := fetch(t, r, repo.Ref{Branch: "out", Optional: true})[0]
			if tip.Exists() || tip.Ref != "refs/heads/out" {
				t.Errorf("got %+v for a branch that does not exist", tip)
			}

			// The first commit goes into the empty repository.
			rd := reader(t, r)
			w := repo.NewWriter(rd)
			commit := commitOn(t, w, rd, tip, map[string]repo.Edit{"a.yaml": {Data: []byte("1")}})
			if err := r.Push(testContext(t), w, repo.Update{Ref: tip.Ref, New: commit}); err != nil {
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

					// Into an empty cache, with the branch to look at.
					r = open(t, remote, repo.Options{Depth: 2})
					tip = fetch(t, r, repo.Ref{Commit: commits[4], Branch: "main"})[0]
					wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "4"})

					_, err := r.Fetch(testContext(t), repo.Ref{Commit: strings.Repeat("12", 20)})
					wantError(t, err, repo.ErrRefNotFound, "1212121212")
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
	fetch(t, openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{}), repo.Ref{})
	if err := os.RemoveAll(g.Dir); err != nil {
		t.Fatal(err)
	}
	r := openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{Commit: commit})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "1"})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, repo.ErrRepositoryNotFound)
}

func TestFetchOfSeveralRefsAtOnce(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "main"})
	g.Commit("other", map[string]string{"a.yaml": "other"})
	g.Git("tag", "-a", "-m", "release", "v1.2.0", "main")
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": "main 2"})
	tips := fetch(t, r, repo.Ref{}, repo.Ref{Branch: "other"}, repo.Ref{Tag: "v1.2.0"}, repo.Ref{Branch: "none", Optional: true})
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

// Four goroutines on one go-git repository read garbage (trap T6).
func TestReadersWorkWhileFetchesGoOn(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	content := map[string]string{}
	for i := range 50 {
		content[fmt.Sprintf("d%d/f%d.yaml", i%5, i)] = strings.Repeat(fmt.Sprint(i), 200)
	}
	g.Commit("main", content)
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{MaxPacks: 3})
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

// packsIn lists the pack files of the one repository below a cache directory.
func packsIn(t testing.TB, dir string) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "*", "git", "objects", "pack", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

func TestFetchClonesAgainWhenThereAreManyPacks(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "0"})
	dir := t.TempDir()
	r := openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{MaxPacks: 4})
	var tip repo.Tip
	for i := range 12 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint("x", i)})
		tip = fetch(t, r, repo.Ref{})[0]
		if n := len(packsIn(t, dir)); n > 5 {
			t.Fatalf("%d packs are in the cache", n)
		}
	}
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "x11"})
}

// A cache is a repository that a human can look into with git.
func TestTheCacheIsReadByGit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	for i := range 5 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)})
	}
	dir := t.TempDir()
	r := openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{Depth: 3})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": "new"})
	fetch(t, r, repo.Ref{})
	homes, err := filepath.Glob(filepath.Join(dir, "*", "git"))
	if err != nil || len(homes) != 1 {
		t.Fatal(homes, err)
	}
	cached := gittest.OpenRepo(t, homes[0])
	cached.Fsck()
	if n := cached.Git("rev-list", "--all", "--count"); n != "4" {
		t.Errorf("git finds %s commits", n)
	}
	if got := cached.Git("remote", "get-url", "origin"); got != "file://"+g.Dir {
		t.Errorf("the origin is %q", got)
	}
}

func TestCorruptCachesAreReplaced(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, pack string){
		"a pack that is cut off": func(t *testing.T, pack string) { truncate(t, pack, 100) },
		"an empty pack":          func(t *testing.T, pack string) { truncate(t, pack, 0) },
		"an index that is cut off": func(t *testing.T, pack string) {
			truncate(t, strings.TrimSuffix(pack, ".pack")+".idx", 200)
		},
		"no index":          func(t *testing.T, pack string) { remove(t, strings.TrimSuffix(pack, ".pack")+".idx") },
		"no pack":           func(t *testing.T, pack string) { remove(t, pack) },
		"no objects folder": func(t *testing.T, pack string) { remove(t, filepath.Dir(filepath.Dir(pack))) },
		"a bad ref": func(t *testing.T, pack string) {
			writeFile(t, filepath.Join(filepath.Dir(pack), "..", "..", "packed-refs"), "what is this\n")
		},
		"a bad boundary": func(t *testing.T, pack string) {
			writeFile(t, filepath.Join(filepath.Dir(pack), "..", "..", "shallow"), "what is this\n")
		},
	}
	for name, f := range damage {
		t.Run(name, func(t *testing.T) {
			g := gittest.NewRepo(t)
			g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a line\n", 100), "b.yaml": "b"})
			dir := t.TempDir()
			fetch(t, openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{}), repo.Ref{})
			f(t, packsIn(t, dir)[0])
			g.Commit("main", map[string]string{"b.yaml": "c"})
			r := openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{})
			tip := fetch(t, r, repo.Ref{})[0]
			rd := reader(t, r)
			if got := files(t, rd, tip.Commit)["b.yaml"]; got != "c" {
				t.Errorf("read %q", got)
			}
		})
	}
}

// Rot in the middle of a pack shows only when that object is read.
func TestRotIsReportedAndCured(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("a line of text\n", 2000)})
	dir := t.TempDir()
	r := openAt(t, dir, repo.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{})[0]
	rd := reader(t, r)
	blob := lookup(t, rd, tip, "a.yaml").Hash
	pack := packsIn(t, dir)[0]
	content, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(content) / 2; i < len(content)-20; i++ {
		content[i] ^= 0x55
	}
	if err := os.Chmod(pack, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, pack, string(content))
	_, err = rd.Blob(blob, 0)
	if err == nil {
		t.Skip("the damage hit nothing")
	}
	wantError(t, err, repo.ErrCorrupt)
	g.Commit("main", map[string]string{"b.yaml": "b"})
	tip = fetch(t, r, repo.Ref{})[0]
	if got := files(t, reader(t, r), tip.Commit)["b.yaml"]; got != "b" {
		t.Errorf("read %q", got)
	}
}

func lookup(t testing.TB, rd *repo.Reader, tip repo.Tip, name string) repo.Entry {
	t.Helper()
	c, err := rd.Commit(tip.Commit)
	if err != nil {
		t.Fatal(err)
	}
	e, err := rd.Lookup(c.Tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func truncate(t *testing.T, name string, size int64) {
	t.Helper()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Two processes on one cache directory are two Repos here: the lock between
// them is the same.
func TestTwoReposShareACacheDirectory(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "0"})
	dir := t.TempDir()
	opts := repo.Options{MaxPacks: 2}
	repos := []*repo.Repo{
		openAt(t, dir, repo.Remote{URL: g.Dir}, opts),
		openAt(t, dir, repo.Remote{URL: g.Dir}, opts),
	}
	for i := range 6 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint("v", i)})
		var wg sync.WaitGroup
		for _, r := range repos {
			wg.Go(func() {
				tips, err := r.Fetch(testContext(t), repo.Ref{})
				if err != nil {
					t.Error(err)
					return
				}
				rd := r.Reader()
				defer rd.Close()
				if got := files(t, rd, tips[0].Commit)["a.yaml"]; got != fmt.Sprint("v", i) {
					t.Errorf("read %q in round %d", got, i)
				}
			})
		}
		wg.Wait()
	}
}

func TestDifferentCredentialsHaveDifferentCaches(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "0"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	dir := t.TempDir()
	for _, auth := range []repo.Auth{
		{}, {Password: "one"}, {Password: "two"},
		{Password: "three", Identity: "team-a"}, {Password: "four", Identity: "team-a"},
	} {
		fetch(t, openAt(t, dir, repo.Remote{URL: url, Auth: auth}, repo.Options{}), repo.Ref{})
	}
	if got := len(packsIn(t, dir)); got != 4 {
		t.Errorf("got %d caches for 4 identities", got)
	}
	assertNoText(t, dir, "three")
}

func assertNoText(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if strings.Contains(string(content), text) || strings.Contains(name, text) {
			t.Errorf("%s contains %q", name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBlobLimit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "12345"})
	r := open(t, repo.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{})[0]
	rd := reader(t, r)
	h := lookup(t, rd, tip, "a.yaml").Hash
	if data, err := rd.Blob(h, 5); err != nil || string(data) != "12345" {
		t.Errorf("at the limit: %q, %v", data, err)
	}
	_, err := rd.Blob(h, 4)
	wantError(t, err, repo.ErrTooLarge)
	_, err = rd.Blob(plumbing.NewHash("12"), 0)
	wantError(t, err, repo.ErrObjectNotFound)
	_, err = rd.Blob(tip.Commit, 0)
	wantError(t, err, repo.ErrObjectNotFound)
	_, err = rd.Lookup(plumbing.ZeroHash, "x")
	wantError(t, err, repo.ErrPathNotFound)
}
