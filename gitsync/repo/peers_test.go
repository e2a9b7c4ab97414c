package repo_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// These tests check what users of similar programs report as broken. The comment of each test names their issues.

// TestOnlyTheAskedBranchIsFetched: argo-cd#11198, #26428, #18831. Of a large repository only the requested branch is
// fetched, without its whole history. What an interrupted fetch has written is removed.
func TestOnlyTheAskedBranchIsFetched(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	oldest := g.Commit("main", map[string]string{"old.txt": noise(t, 100_000)})
	for i := range 5 {
		g.Commit("main", map[string]string{"old.txt": "", "a.yaml": fmt.Sprint("x", i)})
		g.Commit(fmt.Sprint("other", i), map[string]string{"large.txt": noise(t, 100_000)})
	}
	l, remote := behindHTTP(t, g)
	dir := t.TempDir()
	l.fault.Store(&fault{50_000, hangUp})
	large := openAt(t, dir, remote, repo.Options{})
	if _, err := large.Fetch(testContext(t), repo.Ref{Branch: "other1"}); err == nil {
		t.Fatal("the fetch did not break off")
	}
	l.fault.Store(nil)
	fetch(t, openAt(t, dir, remote, repo.Options{Depth: 2}), repo.Ref{Branch: "main"})
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "objects", "pack", "tmp_*")); len(left) > 0 {
		t.Errorf("left of what broke off: %v", left)
	}
	cached := gittest.OpenRepo(t, filepath.Dir(filepath.Dir(filepath.Dir(packsIn(t, dir)[0]))))
	if cached.Has(oldest) || cached.Has(g.Head("other0")) || !cached.Has(g.Head("main")) {
		t.Error("the cache holds what nobody asked for, or lacks what somebody did")
	}
}

// behindHTTP serves a repository over HTTP behind a line.
func behindHTTP(t *testing.T, g *gittest.Repo) (*line, transport.Remote) {
	t.Helper()
	plain, _ := g.ServeHTTP(gittest.HTTPOptions{})
	host, path, _ := strings.Cut(strings.TrimPrefix(plain, "http://"), "/")
	l := newLine(t, host)
	return l, transport.Remote{URL: "http://" + l.address + "/" + path}
}

// TestTenCommitsNeedOneClone: argo-cd#18533. Ten commits and pushes, and one clone.
func TestTenCommitsNeedOneClone(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "0"})
	c := &counted{}
	url := c.serve(g)
	r := open(t, transport.Remote{URL: url}, repo.Options{})
	p := pusher(t, r, transport.Auth{})
	for i := range 10 {
		tip := fetch(t, r, repo.Ref{})[0]
		rd := reader(t, r)
		w := object.NewWriter(rd)
		next := commitOn(t, w, rd, tip, map[string]object.Edit{"a.yaml": {Data: []byte(fmt.Sprint("x", i))}})
		if err := p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: tip.Commit, New: next}); err != nil {
			t.Fatal(err)
		}
	}
	if packs := c.packs.Load(); packs != 1 {
		t.Errorf("%d packs were fetched", packs)
	}
}

// TestALaterProcessFetchesOnlyWhatIsNew: image-automation-controller#271, #296, flux2#2314. A later process
// finds the objects that an earlier one fetched, and requests only new ones.
func TestALaterProcessFetchesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"large.txt": noise(t, 1_000_000)})
	sent := &sentBytes{}
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: sent.wrap})
	dir := t.TempDir()
	fetch(t, openAt(t, dir, transport.Remote{URL: url}, repo.Options{}), repo.Ref{})
	clone := sent.Swap(0)
	for i := range 5 {
		g.Commit("main", map[string]string{"a.yaml": fmt.Sprint("x", i)})
		fetch(t, openAt(t, dir, transport.Remote{URL: url}, repo.Options{}), repo.Ref{})
	}
	if later := sent.Load(); later > clone/20 {
		t.Errorf("the clone took %d bytes, and five changes %d", clone, later)
	}
}

// sentBytes counts the bytes that a server sends.
type sentBytes struct{ atomic.Int64 }

func (s *sentBytes) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { next.ServeHTTP(sending{w, s}, req) })
}

type sending struct {
	http.ResponseWriter
	sent *sentBytes
}

func (w sending) Write(p []byte) (int, error) {
	w.sent.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

// TestKnownHostsOfSeveralHostsMayShareAFile: fluxcd/pkg#1295, image-automation-controller#921, go-git#1551. One
// known_hosts file serves all hosts, even with keys of other hosts and types before the right one. A missing key is an
// error that names the host.
func TestKnownHostsOfSeveralHostsMayShareAFile(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	one, two := gittest.NewSSH(t), gittest.NewSSH(t)
	_, other := gittest.NewSSHKey(t)
	all := knownhosts.Line([]string{"github.com", "gitlab.com"}, other) + "\n" + string(one.KnownHosts) +
		string(two.KnownHosts)
	for _, server := range []*gittest.SSHServer{one, two} {
		auth := transport.Auth{SSHKey: server.Key, KnownHosts: []byte(all)}
		fetch(t, open(t, transport.Remote{URL: server.URL(g), Auth: auth}, repo.Options{}), repo.Ref{})
	}
	auth := transport.Auth{SSHKey: two.Key, KnownHosts: one.KnownHosts}
	_, err := open(t, transport.Remote{URL: two.URL(g), Auth: auth}, repo.Options{}).Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrHostKey, two.Address)
}

// TestUsersOfASharedCloneAreIndependent: gitops-promoter#1495. Users of one repository fetch, read and push ten
// branches at once, and each branch gets its own content.
func TestUsersOfASharedCloneAreIndependent(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	const branches, rounds = 10, 5
	for i := range branches {
		g.Commit(fmt.Sprint("b", i), map[string]string{"a.yaml": "start"})
	}
	pool := newPool(t)
	var wg sync.WaitGroup
	for i := range branches {
		wg.Go(func() {
			r, err := pool.Open(transport.Remote{URL: g.Dir})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			p := pusher(t, r, transport.Auth{})
			for round := range rounds {
				tips, err := r.Fetch(testContext(t), repo.Ref{Branch: fmt.Sprint("b", i)})
				if err != nil {
					t.Error(err)
					return
				}
				rd := r.Reader()
				w := object.NewWriter(rd)
				next := commitOn(t, w, rd, tips[0],
					map[string]object.Edit{"a.yaml": {Data: []byte(fmt.Sprintf("branch %d round %d", i, round))}})
				err = p.Push(testContext(t), w,
					repo.Update{Ref: fmt.Sprintf("refs/heads/b%d", i), Old: tips[0].Commit, New: next})
				rd.Close()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range branches {
		if got, want := g.Files(fmt.Sprint("b", i))["a.yaml"], fmt.Sprintf("branch %d round %d", i, rounds-1); got !=
			want {
			t.Errorf("branch %d holds %q", i, got)
		}
	}
	g.Fsck()
}

// TestServersThatRequireMultiAckAreServed: gitops-reverser#288, go-git#64, #613. A server that requires multi_ack, as
// Azure DevOps does, sends packs.
func TestServersThatRequireMultiAckAreServed(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	var asked atomic.Int32
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				asked.Add(1)
				body, err := io.ReadAll(req.Body)
				if err != nil || !bytes.Contains(plainText(t, body, req.Header), []byte("multi_ack")) {
					http.Error(w, "TF401019: we want multi_ack", http.StatusBadRequest)
					return
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, req)
		})
	}})
	r := open(t, transport.Remote{URL: url}, repo.Options{})
	for i := range 2 { // a clone, and a fetch on top of it
		tip := fetch(t, r, repo.Ref{})[0]
		wantFiles(t, reader(t, r), tip.Commit, g.Files("main"))
		g.Commit("main", map[string]string{"b.yaml": fmt.Sprint("x", i)})
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests for packs", asked.Load())
	}
}

// plainText returns the body of a request, decompressed.
func plainText(t *testing.T, body []byte, header http.Header) []byte {
	if header.Get("Content-Encoding") != "gzip" {
		return body
	}
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	out, err := io.ReadAll(in)
	if err != nil {
		t.Error(err)
	}
	return out
}
