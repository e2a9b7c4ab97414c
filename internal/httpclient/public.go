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

// ErrNotPublic means that [Connection.PublicOnly] refused an address.
var ErrNotPublic = errors.New("the name of a public site has an address that is not public")

// IsPublic reports whether an address can be on the public internet, not on this machine or a private network.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10") // carrier-grade NAT (RFC 6598)
	return a.IsGlobalUnicast() && !a.IsPrivate() && !shared.Contains(a)
}

// publicOnly makes a transport refuse addresses that are not public, after resolving names. The proxy's own address is
// exempt: the proxy decides which addresses it reaches.
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
