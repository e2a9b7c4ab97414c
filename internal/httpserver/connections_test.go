package httpserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// from is a dialer with an address of this machine.
func from(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 5 * time.Second}
}

// isOpen reports whether the server keeps a connection open that sends nothing.
func isOpen(t *testing.T, c net.Conn) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

func eventually(t *testing.T, what string, good func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !good(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (l *limitedListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

func TestConnectionsAreLimited(t *testing.T) {
	l := limitConnections(listener(t)).(*limitedListener)
	l.most, l.mostOfAddress = 4, 2
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") })
	go func() {
		served <- Serve(ctx, slog.New(slog.DiscardHandler), time.Minute, Listener{Listener: l, Handler: handler})
	}()
	dial := func(address string) net.Conn {
		c, err := from(address).Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	first, second, third := dial("127.0.0.1"), dial("127.0.0.1"), dial("127.0.0.1")
	if !isOpen(t, first) || !isOpen(t, second) || isOpen(t, third) {
		t.Error("an address may have two connections")
	}
	client := &http.Client{Transport: &http.Transport{DialContext: from("127.0.0.2").DialContext,
		DisableKeepAlives: true}}
	answer, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatalf("another address: %v", err)
	}
	_ = answer.Body.Close()
	eventually(t, "the request's connection is closed", func() bool { return l.count() == 2 })
	others := []net.Conn{dial("127.0.0.3"), dial("127.0.0.3"), dial("127.0.0.4")}
	if !isOpen(t, others[0]) || !isOpen(t, others[1]) || isOpen(t, others[2]) {
		t.Error("all together may have four")
	}
	_ = first.Close()
	eventually(t, "a closed connection does not count", func() bool { return l.count() == 3 })
	_ = second.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestConnectionsLeaveFilesForPasses(t *testing.T) {
	l := limitConnections(listener(t)).(*limitedListener)
	defer l.Close()
	if files := maxFiles(); files > 0 && l.most > max(addressPart, files/filesPart) || l.most > MaxConnections ||
		l.mostOfAddress < 1 {
		t.Errorf("%d connections, %d of an address, with %d files", l.most, l.mostOfAddress, maxFiles())
	}
}

func TestClients(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":              "192.0.2.1",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"[2001:db8::1]:80":          "2001:db8::/64",
		"[2001:db8::ffff:1%eth0]:1": "2001:db8::/64",
		"nobody":                    "",
	} {
		if got := ClientOf(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
