package httpserver

import (
	"net"
	"net/netip"
	"sync"
)

const (
	// MaxConnections limits the connections of a listener. One client may have a quarter of them.
	MaxConnections = 1024
	addressPart    = 4
	// filesPart limits the connections of a listener to this fraction of the files that the process may open, because
	// passes need files too.
	filesPart = 8
)

// limitedListener closes connections above its limits immediately, so that they cost next to nothing and do not delay
// other clients.
type limitedListener struct {
	net.Listener
	most, mostOfAddress int

	mu     sync.Mutex
	all    int
	counts map[string]int
}

func limitConnections(l net.Listener) net.Listener {
	most := MaxConnections
	if files := maxFiles(); files > 0 {
		most = max(addressPart, min(most, files/filesPart))
	}
	return &limitedListener{Listener: l, most: most, mostOfAddress: most / addressPart, counts: map[string]int{}}
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := ClientOf(c.RemoteAddr().String())
		if l.take(client) {
			return &limitedConn{Conn: c, done: sync.OnceFunc(func() { l.give(client) })}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) take(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.counts[client] >= l.mostOfAddress {
		return false
	}
	l.all++
	l.counts[client]++
	return true
}

func (l *limitedListener) give(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.counts[client]--; l.counts[client] == 0 {
		delete(l.counts, client)
	}
}

// limitedConn is a connection that counts towards the limits until it is closed.
type limitedConn struct {
	net.Conn
	done func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.done()
	return c.Conn.Close()
}

// ClientOf returns the identity of a client: its IPv4 address or its IPv6 /64 network, which one customer has.
func ClientOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // cannot fail for IPv6
	return network.String()
}
