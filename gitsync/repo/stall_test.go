package repo_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// line is a TCP proxy in front of a server. It can disturb what the server sends.
type line struct {
	address string
	fault   atomic.Pointer[fault] // of new connections; nil: none. One that waits in a pool keeps working
}

// The fault begins after this many bytes of a connection.
type fault struct {
	after int
	do    func(server io.Reader, client *net.TCPConn)
}

func silence(server io.Reader, _ *net.TCPConn) { _, _ = io.Copy(io.Discard, server) }

// drip passes on one byte at a time, too slowly for the stall timeout.
func drip(server io.Reader, client *net.TCPConn) {
	for b := make([]byte, 1); ; time.Sleep(stall / 30) {
		if _, err := server.Read(b); err != nil {
			return
		}
		if _, err := client.Write(b); err != nil {
			return
		}
	}
}

func reset(_ io.Reader, client *net.TCPConn) {
	_ = client.SetLinger(0)
	_ = client.Close()
}

func hangUp(_ io.Reader, client *net.TCPConn) { _ = client.Close() }

// stall is the short Options.StallTimeout, for tests with a silent server. Other tests have the default, because a busy
// machine is slow as well.
const stall = 300 * time.Millisecond

func newLine(t *testing.T, server string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &line{address: l.Addr().String()}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go out.carry(conn.(*net.TCPConn), server)
		}
	}()
	return out
}

func (l *line) carry(client *net.TCPConn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close() // the client has gone
	}()
	buf, f := make([]byte, 4096), l.fault.Load()
	for said := 0; ; {
		part := buf
		if f != nil {
			if said >= f.after {
				f.do(server, client)
				return
			}
			part = buf[:min(len(buf), f.after-said)]
		}
		n, err := server.Read(part)
		if err != nil {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
		said += n
	}
}

// noise is text that does not compress.
func noise(t testing.TB, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// behindLines serves a repository over HTTP and SSH, each behind a line.
func behindLines(t *testing.T, g *gittest.Repo) map[string]func() (transport.Remote, *line) {
	t.Helper()
	plain, _ := g.ServeHTTP(gittest.HTTPOptions{})
	at, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	server := gittest.NewSSH(t)
	return map[string]func() (transport.Remote, *line){
		"http": func() (transport.Remote, *line) {
			l := newLine(t, at.Host)
			return transport.Remote{URL: strings.Replace(plain, at.Host, l.address, 1)}, l
		},
		"ssh": func() (transport.Remote, *line) {
			l := newLine(t, server.Address)
			remote := sshRemote(server, g)
			_, from, _ := net.SplitHostPort(server.Address)
			_, to, _ := net.SplitHostPort(l.address)
			remote.URL = strings.Replace(remote.URL, ":"+from, ":"+to, 1)
			remote.Auth.KnownHosts = bytes.Replace(remote.Auth.KnownHosts, []byte("]:"+from), []byte("]:"+to), 1)
			return remote, l
		},
	}
}

// TestFaultsOfTheLine: with each fault a fetch ends as unreachable long before the caller's deadline. After the fault
// everything works again.
func TestFaultsOfTheLine(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": noise(t, 100_000)})
	transports := behindLines(t, g)
	for name, c := range map[string]struct {
		fault
		stalls bool
	}{
		"silent from the start":    {fault{0, silence}, true},
		"silent in the pack":       {fault{50_000, silence}, true},
		"a byte at a time":         {fault{0, drip}, true},
		"a byte of the pack":       {fault{50_000, drip}, true},
		"reset at once":            {fault{0, reset}, false},
		"reset in the pack":        {fault{50_000, reset}, false},
		"gone at once":             {fault{0, hangUp}, false},
		"gone in the pack":         {fault{50_000, hangUp}, false},
		"silent among the refs":    {fault{40, silence}, true},
		"reset in the second pack": {fault{90_000, reset}, false},
	} {
		for scheme, make := range transports {
			t.Run(name+" over "+scheme, func(t *testing.T) {
				t.Parallel()
				remote, l := make()
				dir, opts := t.TempDir(), repo.Options{}
				if c.stalls {
					opts.StallTimeout = stall
				}
				l.fault.Store(&c.fault)
				_, err := openAt(t, dir, remote, opts).Fetch(testContext(t), repo.Ref{})
				wantError(t, err, transport.ErrUnreachable)
				if c.stalls != strings.Contains(err.Error(), "it moved fewer than 1024 bytes") {
					t.Errorf("got %v; for its slowness: %v", err, c.stalls)
				}
				l.fault.Store(nil)
				r := openAt(t, dir, remote, repo.Options{})
				tip := fetch(t, r, repo.Ref{})[0]
				wantFiles(t, reader(t, r), tip.Commit, g.Files("main"))
			})
		}
	}
}

// TestAServerThatThinksIsWaitedFor: a server has more time for a request than for its refs.
func TestAServerThatThinksIsWaitedFor(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				time.Sleep(limit * 3 / 2)
			}
			next.ServeHTTP(w, req)
		})
	}})
	fetch(t, open(t, transport.Remote{URL: url}, repo.Options{StallTimeout: limit}), repo.Ref{})
}

// TestPushesOnAFaultyLine: the refs decide whether a push succeeded; otherwise the result is unknown.
func TestPushesOnAFaultyLine(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			g := gittest.NewRepo(t)
			g.Commit("main", map[string]string{"a.yaml": "1"})
			remote, l := behindLines(t, g)[scheme]()
			dir := t.TempDir()
			r := openAt(t, dir, remote, repo.Options{})
			hasty := pusher(t, openAt(t, dir, remote, repo.Options{StallTimeout: stall}), remote.Auth)
			p := pusher(t, r, remote.Auth)
			tip := fetch(t, r, repo.Ref{})[0]
			for _, f := range []fault{{0, silence}, {0, drip}, {0, reset}, {0, hangUp}} {
				rd := reader(t, r)
				w := object.NewWriter(rd)
				update := repo.Update{Ref: mainRef, Old: tip.Commit,
					New: commitOn(t, w, rd, tip, map[string]object.Edit{"b.yaml": {Data: []byte(noise(t, 50_000))}})}
				l.fault.Store(&f)
				err := hasty.Push(testContext(t), w, update)
				wantError(t, err, transport.ErrUnreachable)
				if g.Head("main") != tip.Commit.String() {
					t.Fatal("the ref has moved")
				}
				l.fault.Store(nil)
				if err := p.Push(testContext(t), w, update); err != nil {
					t.Fatal(err)
				}
				if tip = fetch(t, r, repo.Ref{})[0]; tip.Commit != update.New {
					t.Fatalf("the ref is at %s, want %s", tip.Commit, update.New)
				}
			}
			g.Fsck()
		})
	}
}
