package main

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// mode is how a proxy treats connections.
type mode int

const (
	pass   mode = iota
	refuse      // resets connections at once
	hang        // accepts them, and sends nothing
	cut         // resets them after some bytes
	crawl       // passes on few bytes at a time
	delay       // waits before it connects
)

func (m mode) String() string {
	return [...]string{"passes", "refuses", "hangs", "cuts", "crawls", "delays"}[m]
}

// The settings of crawl and delay.
const (
	crawlBytes = 512
	crawlPause = 5 * time.Millisecond
	delayTime  = 300 * time.Millisecond
	chunkBytes = 16 << 10
)

// proxy is a TCP proxy in front of the Git server, which simulates network faults.
type proxy struct {
	listener net.Listener
	target   string
	pushes   chan<- struct{} // receives a value at the start of a push, if anybody listens

	mu      sync.Mutex
	mode    mode
	left    int           // bytes until it cuts
	changed chan struct{} // closed when the mode changes
	closed  bool
	conns   map[net.Conn]bool
	wg      sync.WaitGroup
}

func newProxy(target string, pushes chan<- struct{}) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, pushes: pushes, changed: make(chan struct{}),
		conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// set changes the mode of all connections, old and new.
func (p *proxy) set(m mode, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.left = m, bytes
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.set(refuse, 0)
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

// track records a connection, so that close can close it.
func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return !p.closed
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// reset ends a connection with RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *proxy) serve(client net.Conn) {
	defer p.drop(client)
	if !p.track(client) || !p.allow(0) {
		reset(client)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	defer p.drop(server)
	if !p.track(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(server, client, true) })
	both.Go(func() { p.pump(client, server, false) })
	both.Wait()
}

// pump copies from one connection to the other, according to the mode.
func (p *proxy) pump(to, from net.Conn, request bool) {
	buffer := make([]byte, chunkBytes)
	for {
		n, err := from.Read(buffer)
		if request && bytes.Contains(buffer[:n], []byte("/git-receive-pack HTTP/")) {
			select {
			case p.pushes <- struct{}{}:
			default:
			}
		}
		for chunk := buffer[:n]; len(chunk) > 0; {
			part := chunk[:min(len(chunk), p.portion())]
			if !p.allow(len(part)) {
				reset(to)
				reset(from)
				return
			}
			if _, err := to.Write(part); err != nil {
				reset(from)
				return
			}
			chunk = chunk[len(part):]
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			return
		}
	}
}

// portion returns the number of bytes to copy at a time.
func (p *proxy) portion() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.mode {
	case crawl:
		return crawlBytes
	case cut:
		return max(1, p.left)
	}
	return chunkBytes
}

// allow waits until that many bytes may pass or, for 0, until a connection may be made. It returns false if the
// connection must be reset.
func (p *proxy) allow(bytes int) bool {
	for {
		p.mu.Lock()
		m, changed := p.mode, p.changed
		switch {
		case m == cut && bytes > 0:
			if p.left -= bytes; p.left < 0 {
				p.mu.Unlock()
				return false
			}
		case m == refuse:
			p.mu.Unlock()
			return false
		}
		p.mu.Unlock()
		switch {
		case m == hang:
			<-changed
			continue
		case m == crawl && bytes > 0:
			wait(changed, crawlPause)
		case m == delay && bytes == 0:
			wait(changed, delayTime)
		}
		return true
	}
}

func wait(changed <-chan struct{}, d time.Duration) {
	select {
	case <-changed:
	case <-time.After(d):
	}
}
