package delivery

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/webhook"
)

// MaxBodyBytes limits a message. Flux limits the text in one to 39,000 characters.
const MaxBodyBytes = 256 << 10

// The addresses, which begin as those of webhooks, so that a proxy needs no other rule.
const (
	fluxPath   = webhook.Prefix + "flux"
	argocdPath = webhook.Prefix + "argocd"
)

// HandlerOptions are the settings of a Handler.
type HandlerOptions struct {
	// Token returns the current token. Required.
	Token func() string
	// Gate limits the requests of the listener. Required.
	Gate *intake.Gate
	// Record is called with each report, and reports whether it is about a pipeline. An error means that the sender
	// should try again.
	Record func(Report) (known bool, err error)
	// Observe is called once for each request.
	Observe func(source string, result webhook.Result)
	Log     *slog.Logger
}

// Handler receives the messages of Flux and Argo CD. The answer has no body, only a status:
//
//	202  a report about a commit of a pipeline
//	200  genuine, but about something else
//	400  the body cannot be read
//	401  no token or signature, or a wrong one
//	405, 408, 413, 429  as in package webhook
//	503  the report could not be handed on to the active replica: try again
type Handler struct{ options HandlerOptions }

// NewHandler returns a handler.
func NewHandler(o HandlerOptions) *Handler { return &Handler{o} }

// source is a sender of messages.
type source struct {
	name string
	read func(body []byte) ([]Report, error)
}

// sourceOf returns the sender that has an address.
func sourceOf(r *http.Request) (s source, ok bool) {
	switch r.URL.Path {
	case fluxPath:
		return source{"flux", readFlux}, true
	case argocdPath:
		return source{"argocd", readArgoCD}, true
	}
	return source{}, false
}

// Handles reports whether a request is for a Handler.
func Handles(r *http.Request) bool {
	_, ok := sourceOf(r)
	return ok
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, ok := sourceOf(r)
	if !ok {
		intake.Refuse(w, http.StatusNotFound)
		return
	}
	status, result := h.answer(w, r, from)
	if h.options.Observe != nil {
		h.options.Observe(from.name, result)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="agentry"`)
	}
	intake.Refuse(w, status)
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, from source) (int, webhook.Result) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, webhook.Broken
	}
	if !h.options.Gate.Allow(r) {
		return http.StatusTooManyRequests, webhook.Limited
	}
	proof := proofOf(r)
	if !proof.isThere() {
		return http.StatusUnauthorized, webhook.Unauthorized
	}
	var body bytes.Buffer
	if err := h.options.Gate.Copy(&body, w, r, MaxBodyBytes); err != nil {
		status := intake.StatusOf(err)
		if status == http.StatusRequestEntityTooLarge {
			return status, webhook.TooLarge
		}
		return status, webhook.Broken
	}
	if !proof.proves(h.options.Token(), body.Bytes()) {
		return http.StatusUnauthorized, webhook.Unauthorized
	}
	reports, err := from.read(body.Bytes())
	switch {
	case errors.Is(err, errNotSaid):
		return http.StatusOK, webhook.Ignored
	case err != nil:
		h.options.Log.Warn("a message of a reconciler cannot be read", "source", from.name, "err", err)
		return http.StatusBadRequest, webhook.Broken
	}
	return h.record(from, reports)
}

// record hands on the reports.
func (h *Handler) record(from source, reports []Report) (int, webhook.Result) {
	status, result := http.StatusOK, webhook.Ignored
	for _, r := range reports {
		known, err := h.options.Record(r)
		if err != nil {
			h.options.Log.Warn("a report of a reconciler cannot be handed on; its sender tries again", "source",
				from.name, "cluster", r.Cluster, "reconciler", r.Reconciler, "err", err)
			return http.StatusServiceUnavailable, webhook.Limited
		}
		if known {
			status, result = http.StatusAccepted, webhook.Accepted
			h.options.Log.Debug("a reconciler reported", "source", from.name, "cluster", r.Cluster, "reconciler",
				r.Reconciler, "commit", r.Commit, "state", r.State)
		}
	}
	return status, result
}

// proof is what a request proves its sender by.
type proof struct {
	token string // of the provider generic, and of Argo CD
	sum   []byte // of the provider generic-hmac
}

func proofOf(r *http.Request) (p proof) {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		p.token = strings.TrimSpace(token)
	}
	if digits, ok := strings.CutPrefix(r.Header.Get("X-Signature"), "sha256="); ok {
		p.sum, _ = hex.DecodeString(digits)
	}
	return p
}

func (p proof) isThere() bool { return p.token != "" || len(p.sum) == sha256.Size }

// proves reports, in constant time, whether the sender knows the token.
func (p proof) proves(token string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(body)
	given, want := sha256.Sum256([]byte(p.token)), sha256.Sum256([]byte(token))
	isToken := subtle.ConstantTimeCompare(given[:], want[:])
	return token != "" && isToken|subtle.ConstantTimeCompare(p.sum, mac.Sum(nil)) == 1
}
