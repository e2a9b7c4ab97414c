// Package intake limits the requests that strangers can send to a listener, before anybody knows who they are: their
// number for each client, and the size, the time and the number of the bodies that are read at once.
package intake

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/agentry-dev/agentry/internal/httpserver"
)

const (
	// BodyTimeout limits the time for reading a body.
	BodyTimeout = 10 * time.Second
	// MaxBodies limits the bodies that are read at once. If there are more, the oldest body of the client with the
	// most bodies is aborted.
	MaxBodies = 128

	// ClientPerSecond and ClientBurst limit all requests from a client's address. Behind a proxy all clients have the
	// address of the proxy.
	ClientPerSecond = 20
	ClientBurst     = 200
	maxClients      = 4096
)

// Gate holds the limits of one listener, which all its handlers share. It is safe for concurrent use.
type Gate struct {
	bodies *bodies

	mu      sync.Mutex
	clients *lru.Cache // of *rate.Limiter
}

// New returns a gate that has seen no request yet.
func New() *Gate { return &Gate{bodies: newBodies(MaxBodies), clients: lru.New(maxClients)} }

// Allow counts a request, and reports whether its client has not sent too many.
func (g *Gate) Allow(r *http.Request) bool {
	client := httpserver.ClientOf(r.RemoteAddr)
	g.mu.Lock()
	limiter, ok := g.clients.Get(client)
	if !ok {
		limiter = rate.NewLimiter(ClientPerSecond, ClientBurst)
		g.clients.Add(client, limiter)
	}
	g.mu.Unlock()
	return limiter.(*rate.Limiter).Allow()
}

// Copy copies the body of a request, at most limit bytes. [StatusOf] has the answer to its errors.
func (g *Gate) Copy(to io.Writer, w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	// Test servers do not support deadlines; the service's do.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(BodyTimeout))
	done := g.bodies.begin(httpserver.ClientOf(r.RemoteAddr), func() { _ = connection.SetReadDeadline(time.Now()) })
	defer done()
	_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, limit))
	return err
}

// StatusOf returns the status of the answer to a request whose body cannot be read.
func StatusOf(err error) int {
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// Refuse writes a response without a body, with the headers that belong to its status.
func Refuse(w http.ResponseWriter, status int) {
	header := w.Header()
	switch status {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests:
		header.Set("Retry-After", "10")
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		header.Set("Connection", "close") // Do not wait for the rest of the body.
	}
	w.WriteHeader(status)
}
