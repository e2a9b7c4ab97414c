package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/browse"
	"github.com/agentry-dev/agentry/internal/console"
	"github.com/agentry-dev/agentry/internal/explained"
	"github.com/agentry-dev/agentry/internal/style"
)

// Fleet is the state that is shown. It is implemented by [fleet.Fleet].
type Fleet interface {
	console.Fleet
	Explained(pipeline string) (render *explain.Render, ok bool)
	Caches(pipeline string) (readers []*object.Reader, ok bool)
}

var _ Fleet = (*fleet.Fleet)(nil)

// Options are the settings of the admin handler.
type Options struct {
	Fleet Fleet
	// Trigger asks for passes. It does not wait for them.
	Trigger func(t fleet.Trigger)
	Version string
	Metrics prometheus.Gatherer
	// Token returns the current bearer token. If it is nil, no token is required, which is only for listeners
	// on loopback.
	Token func() string
	// ReadToken returns the bearer token with which one may see everything and ask for nothing. Nil: there is none.
	ReadToken func() string
	Log       *slog.Logger
}

// admin handles requests of the admin listener.
type admin struct {
	Options
	ready     atomic.Bool
	explained *explained.Store
}

// NewAdmin returns the handler of the admin listener.
func NewAdmin(o Options) (http.Handler, error) {
	a := &admin{Options: o, explained: explained.NewStore(o.Fleet.Explained)}
	guarded := http.NewServeMux()
	err := console.Handle(guarded, console.Options{
		Fleet: o.Fleet, Explained: a.explained, Repositories: browse.NewStore(o.Fleet, o.Log), Version: o.Version, Log: o.Log,
		MayAct: mayAct,
		Pass:   func(pipeline string) string { return a.ask(pipeline, "") },
	})
	guarded.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{}))
	guarded.HandleFunc("GET /api/v1/pipelines", a.listPipelines)
	guarded.HandleFunc("GET /api/v1/pipelines/{name}", a.getPipeline)
	guarded.HandleFunc("GET /api/v1/pipelines/{name}/explain", a.getExplanations)
	guarded.HandleFunc("GET /api/v1/pipelines/{name}/objects", a.getObjects)
	guarded.HandleFunc("POST /api/v1/pipelines/{name}/reconcile", acting(a.reconcile))
	guarded.HandleFunc("POST /api/v1/reconcile", acting(a.reconcileAll))
	guarded.HandleFunc("GET /api/v1/remotes", a.listRemotes)
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", a.healthz)
	open.HandleFunc("GET /readyz", a.readyz)
	open.Handle("/", a.guard(http.NewCrossOriginProtection().Handler(guarded)))
	return secured(open), err
}

// secured sets the security headers of all responses.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		style.Secure(w.Header())
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// actKey is the key of the context in which a request may act.
type actKey struct{}

// mayAct reports whether the sender of a request may ask for passes.
func mayAct(r *http.Request) bool { return r.Context().Value(actKey{}) != nil }

// acting refuses requests that may only read.
func acting(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !mayAct(r) {
			answer(w, http.StatusForbidden, Problem{"this token may read, but not start passes", "use the token of --bearer-token-file"})
			return
		}
		next(w, r)
	}
}

// guard accepts requests with a token. If there is no token, it accepts requests to a loopback host.
func (a *admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case a.Token == nil && !namesLoopback(r.Host):
			http.Error(w, "ask for localhost, 127.0.0.1 or [::1]; other names need a bearer token file", http.StatusForbidden)
		case a.Token == nil || carries(r, a.Token()):
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), actKey{}, true)))
		case a.ReadToken != nil && carries(r, a.ReadToken()):
			next.ServeHTTP(w, r)
		default:
			w.Header().Add("WWW-Authenticate", `Bearer realm="agentry"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="agentry: the token is the password"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		}
	})
}

// carries reports whether a request has the token. It compares in constant time.
func carries(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	if _, password, basic := r.BasicAuth(); basic {
		scheme, given = "bearer", password
	}
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "bearer")
}

// namesLoopback reports whether a Host header names this machine without DNS.
func namesLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// healthz responds as long as the fleet does: it hangs if the fleet is deadlocked.
func (a *admin) healthz(w http.ResponseWriter, _ *http.Request) {
	a.Fleet.Remotes()
	_, _ = io.WriteString(w, "ok\n")
}

// readyz succeeds once every pipeline has been tried, and from then on: it reports whether this process works,
// not whether its inputs are valid.
func (a *admin) readyz(w http.ResponseWriter, _ *http.Request) {
	if !a.ready.Load() {
		if waiting := untried(a.Fleet.Status()); waiting > 0 {
			http.Error(w, amount(waiting, "pipeline")+" not tried yet", http.StatusServiceUnavailable)
			return
		}
		a.ready.Store(true)
	}
	_, _ = io.WriteString(w, "ok\n")
}

// IsLoopback reports whether only this machine can reach an address to listen on.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && namesLoopback(host)
}
