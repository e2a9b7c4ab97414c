package webhook

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// Limits besides those of the gate.
const (
	// DefaultMaxBodyBytes limits the body of a webhook whose kind has no limit of its own.
	DefaultMaxBodyBytes = 1 << 20

	// RepositoryPerSecond and RepositoryBurst limit the genuine requests for a repository.
	RepositoryPerSecond = 10
	RepositoryBurst     = 100

	// ReplayWindow is the time for which deliveries are remembered, and MaxDeliveries their maximum number.
	ReplayWindow  = time.Hour
	MaxDeliveries = 16384
)

// Result is the outcome of a request, for metrics.
type Result string

// The results.
const (
	Accepted     Result = "accepted"     // a trigger
	Ping         Result = "ping"         // genuine, a test of the address
	Ignored      Result = "ignored"      // genuine, but an event that changes no commit
	Replayed     Result = "replayed"     // genuine, but a repeated delivery
	Unauthorized Result = "unauthorized" // missing or wrong secret, or unknown address
	TooLarge     Result = "too_large"
	Limited      Result = "limited" // too many requests
	Broken       Result = "broken"  // not the method, path or body of a webhook, or a slow body
)

// Options has the callbacks and limits of a handler.
type Options struct {
	// Trigger is called with the address of a repository that has new commits, and Preview with the address of one
	// whose pull requests changed. Either may be nil. They do not wait.
	Trigger, Preview func(repository string)
	// Observe is called once for each request, with the type in its path or "unknown".
	Observe func(source string, result Result)
	// Gate limits the requests of the listener. Required.
	Gate *intake.Gate
	// MaxBodyBytes limits a body. 0 means the limit of the kind, or DefaultMaxBodyBytes.
	MaxBodyBytes int64
	Log          *slog.Logger
}

// Handler handles webhooks. It is safe for concurrent use.
type Handler struct {
	options Options

	mu       sync.Mutex
	seen     *lru.Cache // of time.Time, by the hash of a delivery
	table    map[address][]key
	limiters map[address]*rate.Limiter
	decoys   []key // as many as the maximum number of secrets of an address

	now func() time.Time
}

// New returns a handler that knows no address yet.
func New(o Options) *Handler {
	h := &Handler{
		options: o,
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
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="agentry"`)
	}
	intake.Refuse(w, status)
}

// answer handles a request. Its actions before it knows that the request is genuine do not depend on the known
// addresses.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, at address, k kind.Kind, known bool) (int, Result) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, Broken
	}
	if !h.options.Gate.Allow(r) {
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
	keys, real := h.keysOf(at)
	digest, genuine, err := h.check(w, r, h.bodyLimit(k), signature, keys)
	switch {
	case errors.Is(err, errOutOfTime):
		h.options.Log.Warn("webhook refused: it was sent long ago, or a clock is wrong; changes are seen by polling "+
			"only", "repository", at.repository,
			"source", at.kind, "sent", signature.Sent.UTC().Format(time.RFC3339), "off",
			h.now().Sub(signature.Sent).Round(time.Second), "allowed", MaxClockSkew)
		return http.StatusUnauthorized, Unauthorized
	case err != nil:
		status := intake.StatusOf(err)
		if status == http.StatusRequestEntityTooLarge {
			return status, TooLarge
		}
		return status, Broken
	case !genuine || !real:
		return http.StatusNotFound, Unauthorized
	}
	return h.act(r.Header, at, k, signature, digest)
}

// errOutOfTime means that a valid signature has a time that differs from now by more than [MaxClockSkew].
var errOutOfTime = errors.New("the signed time is too old or in the future")

// check reads the whole body and compares the signature with all keys.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, limit int64, signature kind.Signature,
	keys []key) (digest [sha256.Size]byte, genuine bool, err error) {
	sum, macs := sha256.New(), make([]hash.Hash, len(keys))
	hashes := []io.Writer{sum}
	for i, k := range keys {
		macs[i] = k.begin(signature)
		hashes = append(hashes, macs[i])
	}
	if err = h.options.Gate.Copy(io.MultiWriter(hashes...), w, r, limit); err != nil {
		return digest, false, err
	}
	var proven [2]int // by token and by signature
	for i, k := range keys {
		proven[k.signs] |= k.matches(signature, macs[i].Sum(nil))
	}
	if proven[0] == 0 && proven[1] == 1 && h.isOutOfTime(signature.Sent) {
		return digest, false, errOutOfTime
	}
	return [sha256.Size]byte(sum.Sum(nil)), proven[0]|proven[1] == 1, nil
}

// isOutOfTime reports whether a request may be a repetition that is no longer remembered.
func (h *Handler) isOutOfTime(sent time.Time) bool {
	return !sent.IsZero() && h.now().Sub(sent).Abs() > MaxClockSkew
}

func (h *Handler) bodyLimit(k kind.Kind) int64 {
	return cmp.Or(h.options.MaxBodyBytes, k.MaxBodyBytes, DefaultMaxBodyBytes)
}

// act carries out a genuine request.
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
