package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
)

// ErrNotPublic is what a connection to an address gives that [Connection.PublicOnly] refuses.
var ErrNotPublic = errors.New("the address is not public, and the site that leads there is")

// IsPublic reports whether an address may be in the internet: it is not this machine's, its network's, or unusable.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10") // of providers: RFC 6598
	return a.IsGlobalUnicast() && !a.IsPrivate() && !shared.Contains(a)
}

// publicOnly makes a transport refuse addresses that are not public, after names are resolved. A proxy's own address is
// none of them: it decides itself whom it reaches.
func publicOnly(t *http.Transport) {
	var proxies sync.Map
	proxy := t.Proxy
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		u, err := proxy(req)
		if u != nil {
			proxies.Store(u.Hostname(), true)
		}
		return u, err
	}
	guarded := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !IsPublic(a.Addr()) {
			return ErrNotPublic
		}
		return nil
	}}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil {
			if _, isProxy := proxies.Load(host); isProxy {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		}
		return guarded.DialContext(ctx, network, address)
	}
}
