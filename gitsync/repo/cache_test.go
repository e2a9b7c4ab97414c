package repo_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// packsIn lists the pack files of the one repository below a cache directory.
func packsIn(t testing.TB, dir string) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "*", "git", "objects", "pack", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

// With a depth of one, a new clone would lose the objects that were fetched first.
func TestManyPacksAreJoined(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	first := g.Commit("main", map[string]string{"a.yaml": "0"})
	dir := t.TempDir()
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{MaxPacks: 4, Depth: 1})
	var tip repo.Tip
	for i := range 12 {
		tip = fetch(t, r, repo.Ref{})[0]
		if n := len(packsIn(t, dir)); n > 5 {
			t.Fatalf("%d packs are in the cache", n)
		}
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint("x", i)})
	}
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "x10"})
	wantFiles(t, reader(t, r), plumbing.NewHash(first), map[string]string{"a.yaml": "0"})
	homes, err := filepath.Glob(filepath.Join(dir, "*", "git"))
	if err != nil || len(homes) != 1 {
		t.Fatal(homes, err)
	}
	gittest.OpenRepo(t, homes[0]).Fsck()
}

// People can look into the cache with git.
func TestTheCacheIsReadByGit(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	for i := range 5 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint(i)})
	}
	dir := t.TempDir()
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{Depth: 3})
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
			fetch(t, openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{}), repo.Ref{})
			f(t, packsIn(t, dir)[0])
			g.Commit("main", map[string]string{"b.yaml": "c"})
			r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
			tip := fetch(t, r, repo.Ref{})[0]
			rd := reader(t, r)
			if got := files(t, rd, tip.Commit)["b.yaml"]; got != "c" {
				t.Errorf("read %q", got)
			}
		})
	}
}

// A damaged byte in the middle of a pack shows only when that object is read.
func TestDamagedPacksAreReportedAndRepaired(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the same process", "another process"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			testDamagedPack(t, by == "another process")
		})
	}
}

func testDamagedPack(t *testing.T, another bool) {
	g := gittest.NewRepo(t)
	var text strings.Builder
	for range 2000 {
		fmt.Fprintln(&text, rand.Text()) // hardly compressible, so that most of the pack is this file
	}
	g.Commit("main", map[string]string{"a.yaml": text.String()})
	dir := t.TempDir()
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{})[0]
	rd := reader(t, r)
	blob := lookup(t, rd, tip, "a.yaml").Hash
	pack := packsIn(t, dir)[0]
	content, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(content) / 2; i < len(content)/2+100; i++ {
		content[i] ^= 0x55
	}
	if err := os.Chmod(pack, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, pack, string(content))
	_, err = rd.Blob(blob, 0)
	if err == nil {
		t.Fatal("the damage hit nothing: the test must damage more")
	}
	wantError(t, err, store.ErrCorrupt)
	if another {
		r.Close()
		r = openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	}
	fetch(t, r, repo.Ref{}) // nothing is new, and yet all is fetched
	if _, err := reader(t, r).Blob(blob, 0); err != nil {
		t.Error(err)
	}
}

func lookup(t testing.TB, rd *object.Reader, tip repo.Tip, name string) object.Entry {
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

// TestAPackThatIsGoneIsFetchedAgain: another process trusts the cache only if it is whole.
func TestAPackThatIsGoneIsFetchedAgain(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"in/a.yaml": "a\n", "in/b.yaml": "b\n"})
	dir := t.TempDir()
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	fetch(t, r, repo.Ref{})
	first := packsIn(t, dir)[0]
	g.Commit("main", map[string]string{"in/c.yaml": "c\n"})
	fetch(t, r, repo.Ref{})
	r.Close()
	remove(t, first)
	remove(t, strings.TrimSuffix(first, ".pack")+".idx")
	r = openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(t, r, repo.Ref{})[0]
	rd := reader(t, r)
	for name, want := range map[string]string{"in/a.yaml": "a\n", "in/c.yaml": "c\n"} {
		if got, err := rd.Blob(lookup(t, rd, tip, name).Hash, 0); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAProcessTrustsOnlyWhatAnotherHasChecked: one that fetches another branch of a cache without all packs says
// nothing about this one.
func TestAProcessTrustsOnlyWhatAnotherHasChecked(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"in/a.yaml": "a\n"})
	dir := t.TempDir()
	process := func() *repo.Repo { return openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{}) }
	r := process()
	fetch(t, r, repo.Ref{Branch: "main"})
	first := packsIn(t, dir)[0]
	for _, branch := range []string{"main", "other"} {
		g.Commit(branch, map[string]string{"in/" + branch + ".yaml": "b\n"})
		fetch(t, r, repo.Ref{Branch: branch})
	}
	r.Close()
	remove(t, first)
	remove(t, strings.TrimSuffix(first, ".pack")+".idx")
	g.Commit("other", map[string]string{"in/other.yaml": "changed\n"})
	r = process()
	fetch(t, r, repo.Ref{Branch: "other"})
	r.Close()
	r = process()
	tip := fetch(t, r, repo.Ref{Branch: "main"})[0]
	rd := reader(t, r)
	if got, err := rd.Blob(lookup(t, rd, tip, "in/a.yaml").Hash, 0); err != nil || string(got) != "a\n" {
		t.Errorf("%q, %v", got, err)
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
		openAt(t, dir, transport.Remote{URL: g.Dir}, opts),
		openAt(t, dir, transport.Remote{URL: g.Dir}, opts),
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
	for _, auth := range []transport.Auth{
		{}, {Password: "one"}, {Password: "two"},
		{Password: "three", Identity: "team-a"}, {Password: "four", Identity: "team-a"},
	} {
		fetch(t, openAt(t, dir, transport.Remote{URL: url, Auth: auth}, repo.Options{}), repo.Ref{})
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
