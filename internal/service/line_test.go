package service

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/test/gittest"
)

// stall is how long a remote may be silent in tests: long enough for a busy machine.
const stall = 3 * time.Second

// line is a TCP proxy in front of a server.
type line struct {
	address string
	server  string
	fault   atomic.Pointer[fault] // nil for none

	mu    sync.Mutex
	conns []net.Conn
}

// fault is a way in which connections fail.
type fault struct {
	name string
	// talk passes the server's data on to the client.
	talk func(server io.Reader, client *net.TCPConn)
	// says is the message that users see.
	says string
}

// faults returns the faults of remotes that can be reached.
func faults() []fault {
	return []fault{
		{"reset", func(_ io.Reader, client *net.TCPConn) {
			_ = client.SetLinger(0)
			_ = client.Close()
		}, "unreachable"},
		{"silent", func(server io.Reader, _ *net.TCPConn) {
			_, _ = io.Copy(io.Discard, server)
		}, "it moved fewer than 1024 bytes"},
		{"drip", drip, "it moved fewer than 1024 bytes"},
	}
}

// drip passes on one byte a second.
func drip(server io.Reader, client *net.TCPConn) {
	for b := make([]byte, 1); ; time.Sleep(time.Second) {
		if _, err := server.Read(b); err != nil {
			return
		}
		if _, err := client.Write(b); err != nil {
			return
		}
	}
}

func newLine(t *testing.T, server string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &line{address: l.Addr().String(), server: server}
	t.Cleanup(func() {
		_ = l.Close()
		out.cut()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go out.carry(conn.(*net.TCPConn))
		}
	}()
	return out
}

func (l *line) carry(client *net.TCPConn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.conns = append(l.conns, client, server)
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close() // the client has gone
	}()
	if f := l.fault.Load(); f != nil {
		f.talk(server, client)
		return
	}
	_, _ = io.Copy(client, server)
}

// breaks begins a fault for new connections, or ends it if f is nil. It closes open connections.
func (l *line) breaks(f *fault) {
	l.fault.Store(f)
	l.cut()
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// remote is a repository behind a line.
type remote struct {
	*gittest.Repo
	*line
	url  string
	auth string // the auth of a pipeline that uses it
}

// overHTTP serves a repository over HTTP.
func overHTTP(t *testing.T) *remote {
	t.Helper()
	g := gittest.NewRepo(t)
	plain, _ := g.ServeHTTP(gittest.HTTPOptions{})
	at, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(t, at.Host)
	return &remote{Repo: g, line: l, url: strings.Replace(plain, at.Host, l.address, 1)}
}

// overSSH serves a repository by an sshd, whose key is known at the address of the line.
func overSSH(t *testing.T, server *gittest.SSHServer, folder string) *remote {
	t.Helper()
	g := gittest.NewRepo(t)
	l := newLine(t, server.Address)
	_, _, public, _, _, err := ssh.ParseKnownHosts(server.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	hosts, key := filepath.Join(folder, l.address+".hosts"), filepath.Join(folder, l.address+".key")
	write(t, hosts, knownhosts.Line([]string{l.address}, public)+"\n")
	write(t, key, string(server.Key))
	auth := fmt.Sprintf("sshKeyFile: %q, knownHostsFile: %q", key, hosts)
	return &remote{Repo: g, line: l, url: strings.Replace(server.URL(g), server.Address, l.address, 1), auth: auth}
}

// TestRemotesThatAreDownSilentOrSlow: whatever one remote does, the pipelines of the others continue. Its own
// pipelines report the fault in plain words, and catch up by themselves when it is over, with nothing lost.
func TestRemotesThatAreDownSilentOrSlow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits half a minute for remotes that do not answer: make race runs it")
	}
	w := newTestbed(t)
	w.options.git = repo.Options{StallTimeout: stall}
	sshd := gittest.NewSSH(t)
	good := overHTTP(t)
	bad := map[string]*remote{}
	for _, f := range faults() {
		bad[f.name+"-http"], bad[f.name+"-ssh"] = overHTTP(t), overSSH(t, sshd, w.folder)
	}
	good.Commit("main", input("first"))
	w.pipeline("good", good.url, "")
	for name, r := range bad {
		r.Commit("main", input("first"))
		w.pipeline(name, r.url, r.auth)
	}
	w.start()
	w.ready(good.Repo, "first", "good")
	for name, r := range bad {
		w.ready(r.Repo, "first", name)
	}

	for _, f := range faults() {
		for _, transport := range []string{"-http", "-ssh"} {
			r := bad[f.name+transport]
			r.breaks(&f)
			r.Commit("main", input("second"))
			w.trigger(f.name + transport)
		}
	}
	good.Commit("main", input("second"))
	w.trigger("good")
	w.ready(good.Repo, "second", "good")
	for _, f := range faults() {
		for _, transport := range []string{"-http", "-ssh"} {
			s := w.says(f.name+transport, "Failed", "the output cannot be reached: ", bad[f.name+transport].address,
				f.says)
			if s.Condition("Stalled") != nil || s.Condition("Reconciling").Reason != "ProgressingWithRetry" {
				t.Errorf("%s: it is retried, and not for anybody to mend here: %+v", s.Name, s.Conditions)
			}
		}
	}
	good.Commit("main", input("third"))
	w.trigger("good")
	w.ready(good.Repo, "third", "good")

	for _, r := range bad {
		r.breaks(nil)
	}
	for name, r := range bad { // nobody asks for it
		w.ready(r.Repo, "second", name)
		if n := r.Git("rev-list", "--count", "env/"+name); n != "2" {
			t.Errorf("%s: %s commits for two inputs", name, n)
		}
		r.Fsck()
	}
	w.end()
}
