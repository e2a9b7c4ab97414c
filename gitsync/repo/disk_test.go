package repo_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestACacheThatIsDeletedUnderUs: a cache that is deleted, wholly or in part, is made again, and Readers go on.
func TestACacheThatIsDeletedUnderUs(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(t *testing.T, dir string){
		"all caches": func(t *testing.T, dir string) { removeAll(t, dir) },
		"this cache": func(t *testing.T, dir string) {
			removeAll(t, filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(packsIn(t, dir)[0])))))
		},
		"the repository": func(t *testing.T, dir string) {
			removeAll(t, filepath.Dir(filepath.Dir(filepath.Dir(packsIn(t, dir)[0]))))
		},
		"the packs": func(t *testing.T, dir string) { removeAll(t, filepath.Dir(packsIn(t, dir)[0])) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gittest.NewRepo(t)
			g.Commit("main", map[string]string{"a.yaml": "1"})
			dir := filepath.Join(t.TempDir(), "caches")
			r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
			p := pusher(t, r, transport.Auth{})
			old := fetch(t, r, repo.Ref{})[0]
			rd := reader(t, r)
			remove(t, dir)
			wantFiles(t, rd, old.Commit, map[string]string{"a.yaml": "1"})
			w := object.NewWriter(rd)
			next := commitOn(t, w, rd, old, map[string]object.Edit{"b.yaml": {Data: []byte("2")}})
			removeAll(t, dir)
			if err := p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: old.Commit, New: next}); err != nil {
				t.Fatal(err)
			}
			tip := fetch(t, r, repo.Ref{})[0]
			wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "1", "b.yaml": "2"})
		})
	}
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// TestACacheThatIsDeletedDuringAFetch: the same fetch makes the cache again.
func TestACacheThatIsDeletedDuringAFetch(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	dir := t.TempDir()
	var armed atomic.Bool
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost && armed.CompareAndSwap(true, false) {
				for _, name := range filesIn(t, dir) {
					removeAll(t, name)
				}
			}
			next.ServeHTTP(w, req)
		})
	}})
	r := openAt(t, dir, transport.Remote{URL: url}, repo.Options{})
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": "2"})
	armed.Store(true)
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": "2"})
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fullDisk tells a process of this test what to fetch into which folder, while no file may grow over 20 kB.
const fullDisk = "AGENTRY_TEST_FULL_DISK"

// TestAFullDisk: the error is clear, the content of the cache stays, and the next fetch works once there is room again.
func TestAFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		fetchOnFullDisk(t, dir, os.Getenv(fullDisk+"_URL"))
		return
	}
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	c := &counted{}
	url := c.serve(g)
	dir := t.TempDir()
	r := openAt(t, dir, transport.Remote{URL: url}, repo.Options{})
	old := fetch(t, r, repo.Ref{})[0]
	g.Commit("main", map[string]string{"b.yaml": noise(t, 100_000)})
	c.want(t, "the first fetch", 1, 1)

	cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDisk$")
	cmd.Env = append(os.Environ(), fullDisk+"="+dir, fullDisk+"_URL="+url)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Fatalf("%v: %s", err, out)
	}
	c.want(t, "two fetches without room", 2, 2) // a clone would not fit either
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "objects", "pack", "tmp_*")); len(left) > 0 {
		t.Errorf("what did not fit is still there: %v", left)
	}
	fresh := openAt(t, dir, transport.Remote{URL: url}, repo.Options{})
	fetch(t, fresh, repo.Ref{Commit: old.Commit.String()})
	wantFiles(t, reader(t, fresh), old.Commit, map[string]string{"a.yaml": "1"})
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, g.Files("main"))
}

func fetchOnFullDisk(t *testing.T, dir, url string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: 20_000}); err != nil {
		t.Fatal(err)
	}
	r := openAt(t, dir, transport.Remote{URL: url}, repo.Options{})
	for range 2 {
		_, err := r.Fetch(testContext(t), repo.Ref{})
		wantError(t, err, repo.ErrCache, "file too large")
	}
}

func TestACacheDirectoryThatIsAFileIsAnError(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	dir := filepath.Join(t.TempDir(), "caches")
	writeFile(t, dir, "a file")
	_, err := repo.Open(dir, transport.Remote{URL: g.Dir}, repo.Options{})
	wantError(t, err, repo.ErrCache, "not a directory")

	dir = filepath.Join(t.TempDir(), "caches")
	r := openAt(t, dir, transport.Remote{URL: g.Dir}, repo.Options{})
	removeAll(t, dir)
	writeFile(t, dir, "a file")
	_, err = r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, repo.ErrCache, "not a directory")
	if errors.Is(err, transport.ErrUnreachable) {
		t.Error("the remote is blamed")
	}
	removeAll(t, dir)
	fetch(t, r, repo.Ref{})
}
