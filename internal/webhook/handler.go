package webhook

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// Limits of what is taken from anybody, and from those who know a secret.
const (
	// DefaultMaxBodyBytes bounds the body of a webhook whose kind has no bound of its own.
	DefaultMaxBodyBytes = 1 << 20
	// BodyTimeout is how long a body may take.
	BodyTimeout = 10 * time.Second
	// MaxBodies is how many bodies are read at once. If there are more, the oldest of the client with most of them is
	// given up.
	MaxBodies = 128

	// ClientPerSecond and ClientBurst bound all requests of a client's address. Behind a proxy all clients have the
	// address of the proxy.
	ClientPerSecond = 20
	ClientBurst     = 200
	maxClients      = 4096

	// RepositoryPerSecond and RepositoryBurst bound the genuine requests for a repository.
	RepositoryPerSecond = 10
	RepositoryBurst     = 100

	// ReplayWindow is how long deliveries are remembered, and MaxDeliveries how many.
	ReplayWindow  = time.Hour
	MaxDeliveries = 16384
)

// Result is what became of a request, for metrics.
type Result string

// The results.
const (
	Accepted     Result = "accepted"     // a trigger
	Ping         Result = "ping"         // genuine, sent to try the address
	Ignored      Result = "ignored"      // genuine, an event that changes no commit
	Replayed     Result = "replayed"     // genuine, seen before
	Unauthorized Result = "unauthorized" // no or a wrong secret, or no such address
	TooLarge     Result = "too_large"
	Limited      Result = "limited" // too many requests
	Broken       Result = "broken"  // a method, path or body that is none of a webhook, or a slow one
)

// Options are what a handler calls and how much it takes.
type Options struct {
	// Trigger is called with the address of a repository that has new commits, and Preview
	// with that of one whose pull requests changed; nil: nobody wants to know. They do not wait.
	Trigger, Preview func(repository string)
	// Observe is called once for each request, with the type in its path or "unknown".
	Observe func(source string, result Result)
	// MaxBodyBytes bounds a body. 0: that of the kind, or DefaultMaxBodyBytes.
	MaxBodyBytes int64
	Log          *slog.Logger
}

// Handler answers webhooks. It is safe for concurrent use.
type Handler struct {
	options Options
	bodies  *bodies

	mu       sync.Mutex
	clients  *lru.Cache // of *rate.Limiter
	seen     *lru.Cache // of time.Time, by the sum of a delivery
	table    map[address][]key
	limiters map[address]*rate.Limiter
	decoys   []key // as many as the address with the most secrets has

	now func() time.Time
}

// New returns a handler that knows no address yet.
func New(o Options) *Handler {
	h := &Handler{
		options: o,
		bodies:  newBodies(MaxBodies),
		clients: lru.New(maxClients),
		seen:    lru.New(MaxDeliveries),
		now:     time.Now,
	}
	h.Set(nil)
	return h
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, k, known := parsePath(r.URL)
	source := "unknown"
	if known {
		source = at.kind
	}
	status, result := h.answer(w, r, at, k, known)
	if h.options.Observe != nil {
		h.options.Observe(source, result)
	}
	header := w.Header()
	switch status {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Basic realm="agentry"`)
	case http.StatusTooManyRequests:
		header.Set("Retry-After", "10")
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		header.Set("Connection", "close") // What is left of the body is not waited for.
	}
	w.WriteHeader(status)
}

// answer decides about a request. What it does before it knows that the request is genuine
// does not depend on which addresses there are.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, at address, k kind.Kind, known bool) (int, Result) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, Broken
	}
	if !h.allowClient(httpserver.ClientOf(r.RemoteAddr)) {
		return http.StatusTooManyRequests, Limited
	}
	if !known {
		return http.StatusNotFound, Unauthorized
	}
	if k.UnsignedPing != nil && k.UnsignedPing(r.Header) {
		return http.StatusOK, Ping
	}
	signature := k.Signature(r)
	if signature.IsEmpty() {
		return http.StatusUnauthorized, Unauthorized
	}
	if r.ContentLength > h.bodyLimit(k) {
		return http.StatusRequestEntityTooLarge, TooLarge
	}
	// Servers of tests have no deadlines; those of the service do.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(BodyTimeout))
	done := h.bodies.begin(httpserver.ClientOf(r.RemoteAddr), func() { _ = connection.SetReadDeadline(time.Now()) })
	defer done()
	keys, real := h.keysOf(at)
	digest, genuine, err := h.check(w, r, h.bodyLimit(k), signature, keys)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge, TooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, Broken
	case errors.Is(err, errOutOfTime):
		h.options.Log.Warn("webhook refused: it was sent long ago, or a clock is wrong; changes are seen by polling "+
			"only", "repository", at.repository,
			"source", at.kind, "sent", signature.Sent.UTC().Format(time.RFC3339), "off",
			h.now().Sub(signature.Sent).Round(time.Second), "allowed", MaxClockSkew)
		return http.StatusUnauthorized, Unauthorized
	case err != nil:
		return http.StatusBadRequest, Broken
	case !genuine || !real:
		return http.StatusNotFound, Unauthorized
	}
	return h.act(r.Header, at, k, signature, digest)
}

// errOutOfTime is the error of a right signature whose time differs from now by more than [MaxClockSkew].
var errOutOfTime = errors.New("the signed time is too old or in the future")

// check reads the body to its end and compares the signature with all keys.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, limit int64, signature kind.Signature,
	keys []key) (digest [sha256.Size]byte, genuine bool, err error) {
	sum, macs := sha256.New(), make([]hash.Hash, len(keys))
	hashes := []io.Writer{sum}
	for i, k := range keys {
		macs[i] = k.begin(signature)
		hashes = append(hashes, macs[i])
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	if _, err = io.Copy(io.MultiWriter(hashes...), body); err != nil {
		return digest, false, err
	}
	var proven [2]int // by a token, and by a signature
	for i, k := range keys {
		proven[k.signs] |= k.matches(signature, macs[i].Sum(nil))
	}
	if proven[0] == 0 && proven[1] == 1 && h.isOutOfTime(signature.Sent) {
		return digest, false, errOutOfTime
	}
	return [sha256.Size]byte(sum.Sum(nil)), proven[0]|proven[1] == 1, nil
}

// isOutOfTime reports whether a request may repeat one that is no longer remembered.
func (h *Handler) isOutOfTime(sent time.Time) bool {
	return !sent.IsZero() && h.now().Sub(sent).Abs() > MaxClockSkew
}

func (h *Handler) bodyLimit(k kind.Kind) int64 {
	return cmp.Or(h.options.MaxBodyBytes, k.MaxBodyBytes, DefaultMaxBodyBytes)
}

// act does what a genuine request asks for.
func (h *Handler) act(header http.Header, at address, k kind.Kind, signature kind.Signature,
	body [sha256.Size]byte) (int, Result) {
	event := k.Event(header)
	switch event {
	case kind.Ping:
		return http.StatusOK, Ping
	case kind.Other:
		return http.StatusOK, Ignored
	}
	id := ""
	if k.DeliveryID != nil {
		id = k.DeliveryID(header)
	}
	deliveries := deliveryMarks(at, k, id, signature, body)
	if h.known(deliveries) {
		return http.StatusOK, Replayed
	}
	if !h.allowRepository(at) {
		return http.StatusTooManyRequests, Limited
	}
	if !h.remember(deliveries) {
		return http.StatusOK, Replayed
	}
	h.options.Log.Info("webhook", "repository", at.repository, "source", at.kind, "pull_request",
		event == kind.PullRequest)
	if h.options.Trigger != nil {
		h.options.Trigger(at.repository)
	}
	if h.options.Preview != nil && event != kind.Push {
		h.options.Preview(at.repository)
	}
	return http.StatusAccepted, Accepted
}
