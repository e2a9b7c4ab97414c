package discover

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// resolver gives the same answer until it is changed.
type resolver struct {
	mu    sync.Mutex
	addrs []netip.Addr
	err   error
}

// LookupNetIP implements Resolver.
func (r *resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addrs, r.err
}

func TestDNS(t *testing.T) {
	servfail := errors.New("server misbehaving")
	gone := &net.DNSError{IsNotFound: true}
	type step struct {
		addrs string
		err   error
		want  string // the known addresses; "-": not synced
		state WatchState
	}
	tests := map[string][]step{
		"pods": {{"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2", WatchGood}},
		"a pod comes": {{"10.0.0.1", nil, "10.0.0.1", WatchGood},
			{"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2", WatchGood}},
		"two answers lack it": {{"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2", WatchGood},
			{"10.0.0.1", nil, "10.0.0.1 10.0.0.2", WatchGood}, {"10.0.0.1", nil, "10.0.0.1", WatchGood}},
		"one answer lacks it": {{"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2", WatchGood},
			{"10.0.0.1", nil, "10.0.0.1 10.0.0.2", WatchGood},
			{"10.0.0.1 10.0.0.2", nil, "10.0.0.1 10.0.0.2", WatchGood},
			{"10.0.0.1", nil, "10.0.0.1 10.0.0.2", WatchGood}},
		"an error keeps it": {{"10.0.0.1", nil, "10.0.0.1", WatchGood},
			{"", servfail, "10.0.0.1", WatchFailing}, {"", servfail, "10.0.0.1", WatchFailing},
			{"", servfail, "10.0.0.1", WatchFailing}},
		"an empty answer keeps it": {{"10.0.0.1", nil, "10.0.0.1", WatchGood}, {"", nil, "10.0.0.1", WatchFailing},
			{"", gone, "10.0.0.1", WatchFailing}, {"", gone, "10.0.0.1", WatchFailing}},
		"no answer yet":               {{"", servfail, "-", WatchFailing}, {"10.0.0.1", nil, "10.0.0.1", WatchGood}},
		"no pods yet":                 {{"", gone, "", WatchGood}, {"10.0.0.1", nil, "10.0.0.1", WatchGood}},
		"both families":               {{"fd00::1 10.0.0.1", nil, "10.0.0.1", WatchGood}},
		"IPv6 alone":                  {{"fd00::1", nil, "fd00::1", WatchGood}},
		"IPv4 written as IPv6":        {{"::ffff:10.0.0.1", nil, "10.0.0.1", WatchGood}},
		"addresses that are not pods": {{"127.0.0.1 169.254.169.254 10.0.0.1", nil, "10.0.0.1", WatchGood}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := ParseName("ns/ga=pods.ns.svc:80")
				if err != nil {
					t.Fatal(err)
				}
				r := &resolver{}
				d := NewDNS(DNSOptions{Names: []Name{n}, Resolver: r, Log: slog.New(slog.DiscardHandler)})
				for i, s := range steps {
					r.mu.Lock()
					r.addrs, r.err = nil, s.err
					for a := range strings.FieldsSeq(s.addrs) {
						r.addrs = append(r.addrs, netip.MustParseAddr(a))
					}
					r.mu.Unlock()
					if i == 0 {
						go d.Run(t.Context(), func() {})
					} else {
						time.Sleep(lookupEvery)
					}
					synctest.Wait()
					f := d.Found()
					got := strings.ReplaceAll(addresses(f), "ns/ga=", "")
					if !f.Synced {
						got = "-"
					}
					if got != s.want || f.Watches[0].State != s.state ||
						(s.state == WatchFailing) != (f.Watches[0].Error != "") {
						t.Errorf("step %d: %q, want %q, %+v", i, got, s.want, f.Watches)
					}
				}
			})
		})
	}
}

func TestParseName(t *testing.T) {
	for _, text := range []string{"", "a", "a/b", "a/b=c", "a/b=:80", "a/b=c:0", "a/b=c:x", "a/b=c:65536", "a=c:80",
		"a/b/c=d:80", "/b=c:80"} {
		if _, err := ParseName(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if n, err := ParseName("a/b=[fd00::1]:80"); err != nil || n.Host != "fd00::1" {
		t.Error(n, err)
	}
}
