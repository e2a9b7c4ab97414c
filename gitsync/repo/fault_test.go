package repo_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// wantWithin runs f with a short deadline, and fails if f runs much longer.
func wantWithin(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		wantError(t, err, transport.ErrUnreachable)
		wantError(t, err, context.DeadlineExceeded)
	case <-time.After(testTimeout):
		t.Fatal("the deadline does not hold")
	}
}

func sshAuth(t *testing.T, address string) transport.Auth {
	t.Helper()
	key, public := gittest.NewSSHKey(t)
	return transport.Auth{SSHKey: key, KnownHosts: []byte(knownhosts.Line([]string{address}, public) + "\n")}
}

func TestSilentServersAreLeftAtTheDeadline(t *testing.T) {
	t.Parallel()
	address := gittest.NewSilent(t)
	for name, remote := range map[string]transport.Remote{
		"http":  {URL: "http://" + address + "/r.git"},
		"https": {URL: "https://" + address + "/r.git"},
		"ssh":   {URL: "ssh://git@" + address + "/r.git", Auth: sshAuth(t, address)},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, remote, repo.Options{})
			wantWithin(t, func(ctx context.Context) error {
				_, err := r.List(ctx)
				return err
			})
			wantWithin(t, func(ctx context.Context) error {
				_, err := r.Fetch(ctx, repo.Ref{})
				return err
			})
			wantWithin(t, func(ctx context.Context) error {
				w := object.NewWriter(reader(t, r))
				commit := commitOn(t, w, nil, repo.Tip{}, map[string]object.Edit{"a": {Data: []byte("b")}})
				return pusher(t, r, remote.Auth).Push(ctx, w, repo.Update{Ref: mainRef, New: commit})
			})
		})
	}
}

// The server takes the request and then says nothing.
func TestSlowAnswersAreLeftAtTheDeadline(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	g.Hook("pre-receive", "exec sleep 5")
	release := make(chan struct{})
	defer close(release)
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, req.Body) // so that the server sees us go
				select {
				case <-release:
				case <-req.Context().Done():
				}
				return
			}
			next.ServeHTTP(w, req)
		})
	}})
	t.Run("fetch over http", func(t *testing.T) {
		r := open(t, transport.Remote{URL: url}, repo.Options{})
		wantWithin(t, func(ctx context.Context) error {
			_, err := r.Fetch(ctx, repo.Ref{})
			return err
		})
	})
	server := gittest.NewSSH(t)
	for name, remote := range map[string]transport.Remote{"file": {URL: g.Dir}, "ssh": sshRemote(server, g)} {
		t.Run("push over "+name, func(t *testing.T) {
			s := start(t, remote)
			commit := s.commit(t, "b.yaml", "2")
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			go func() { done <- s.Push(ctx, s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}) }()
			select {
			case err := <-done:
				wantError(t, err, transport.ErrUnreachable)
			case <-time.After(testTimeout):
				t.Fatal("the deadline does not hold")
			}
		})
	}
}

func TestTheLockIsWaitedForUntilTheDeadline(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	started, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if first.CompareAndSwap(false, true) {
				close(started)
				<-release
			}
			next.ServeHTTP(w, req)
		})
	}})
	dir := t.TempDir()
	holder, waiter := openAt(t, dir, transport.Remote{URL: url}, repo.Options{}), openAt(t, dir,
		transport.Remote{URL: url}, repo.Options{})
	done := make(chan error, 1)
	go func() {
		_, err := holder.Fetch(testContext(t), repo.Ref{})
		done <- err
	}()
	<-started
	for _, r := range []*repo.Repo{holder, waiter} { // within the process, and as if between two
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := r.Fetch(ctx, repo.Ref{})
		cancel()
		wantError(t, err, context.DeadlineExceeded)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	fetch(t, waiter, repo.Ref{})
}

// cut ends the connection after some bytes of the answers with packs.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	n, err := c.ResponseWriter.Write(p)
	c.ResponseWriter.(http.Flusher).Flush()
	return n, err
}

func TestRemotesThatVanishInTheMiddle(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	var broken atomic.Bool
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if broken.Load() && req.Method == http.MethodPost {
				w = &cut{w, 60}
			}
			next.ServeHTTP(w, req)
		})
	}})
	r := open(t, transport.Remote{URL: url}, repo.Options{})
	broken.Store(true)
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrUnreachable)
	broken.Store(false)
	fetch(t, r, repo.Ref{})
	g.Commit("main", map[string]string{"a.yaml": strings.Repeat("much more ", 100)})
	broken.Store(true)
	_, err = r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrUnreachable)
	broken.Store(false)
	tip := fetch(t, r, repo.Ref{})[0]
	wantFiles(t, reader(t, r), tip.Commit, map[string]string{"a.yaml": strings.Repeat("much more ", 100)})
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, remote := range []transport.Remote{
		{URL: "http://" + address + "/r.git"},
		{URL: "ssh://" + address + "/r.git", Auth: sshAuth(t, address)},
	} {
		_, err := open(t, remote, repo.Options{}).List(testContext(t))
		wantError(t, err, transport.ErrUnreachable, "connection refused", address)
	}
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{User: "bot", Password: "right"})
	server := gittest.NewSSH(t)
	other, _ := gittest.NewSSHKey(t)
	for name, remote := range map[string]transport.Remote{
		"http":           {URL: url, Auth: transport.Auth{Username: "bot", Password: "wr0ng-s3cret"}},
		"http without":   {URL: url},
		"http bearer":    {URL: url, Auth: transport.Auth{BearerToken: "wr0ng-s3cret"}},
		"ssh with a key": {URL: server.URL(g), Auth: transport.Auth{SSHKey: other, KnownHosts: server.KnownHosts}},
		"ssh as other user": {URL: server.URL(g),
			Auth: transport.Auth{Username: "nobody-here", SSHKey: server.Key, KnownHosts: server.KnownHosts}},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, remote, repo.Options{})
			_, err := r.Fetch(testContext(t), repo.Ref{})
			wantError(t, err, transport.ErrAuth)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows the credential: %v", err)
			}
		})
	}
}

func TestHostKeysAreChecked(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	server := gittest.NewSSH(t)
	_, public := gittest.NewSSHKey(t)
	for name, hosts := range map[string]string{
		"is not in known_hosts": knownhosts.Line([]string{"other.example.com"}, public),
		"lists another key":     knownhosts.Line([]string{server.Address}, public),
	} {
		r := open(t, transport.Remote{URL: server.URL(g),
			Auth: transport.Auth{SSHKey: server.Key, KnownHosts: []byte(hosts + "\n")}}, repo.Options{})
		_, err := r.Fetch(testContext(t), repo.Ref{})
		wantError(t, err, transport.ErrHostKey, name, "SHA256:")
	}
}

func TestRepositoriesThatAreNotThere(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	server := gittest.NewSSH(t)
	nowhere := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "none.git")}
	for name, remote := range map[string]transport.Remote{
		"file":           {URL: nowhere.Dir},
		"a plain folder": {URL: t.TempDir()},
		"http":           {URL: url + "/none.git"},
		"ssh":            sshRemote(server, nowhere),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, remote, repo.Options{}).Fetch(testContext(t), repo.Ref{})
			wantError(t, err, transport.ErrRepositoryNotFound)
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		leaked.Store(true)
	}))
	t.Cleanup(elsewhere.Close)
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch {
			case strings.HasPrefix(req.URL.Path, "/renamed/"):
				http.Redirect(w, req, "/repo.git"+strings.TrimPrefix(req.URL.Path, "/renamed")+"?"+req.URL.RawQuery,
					http.StatusMovedPermanently)
			case strings.HasPrefix(req.URL.Path, "/away/"):
				http.Redirect(w, req, elsewhere.URL+"/info/refs", http.StatusFound)
			case strings.HasPrefix(req.URL.Path, "/login/"):
				http.Redirect(w, req, "/sign_in", http.StatusFound)
			default:
				next.ServeHTTP(w, req)
			}
		})
	}})
	base := strings.TrimSuffix(url, "/repo.git")
	auth := transport.Auth{Password: "s3cret"}
	s := start(t, transport.Remote{URL: base + "/renamed", Auth: auth})
	err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: s.commit(t, "b.yaml", "2")})
	if err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{"/away": "another port", "/login": "you may need credentials"} {
		_, err := open(t, transport.Remote{URL: base + path, Auth: auth}, repo.Options{}).List(testContext(t))
		wantError(t, err, transport.ErrUnreachable, want)
	}
	if leaked.Load() {
		t.Error("the credential was sent to another server")
	}
}
