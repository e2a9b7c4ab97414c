package server

import (
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

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/console"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/internal/repobrowser"
	"github.com/agentry-dev/agentry/internal/webpage"
)

// Fleet has the state to show. [fleet.Fleet] implements it.
type Fleet interface {
	console.Fleet
	explainers.Fleet
	Caches(pipeline string) (readers []*object.Reader, ok bool)
}

var _ Fleet = (*fleet.Fleet)(nil)

// Options are the settings of the admin handler.
type Options struct {
	Fleet Fleet
	// Delivery knows how far commits have come in clusters. It may be nil.
	Delivery *delivery.Store
	// Trigger requests passes. It does not wait for them.
	Trigger func(t fleet.Trigger)
	Version string
	Metrics prometheus.Gatherer
	// Token returns the current bearer token. If it is nil, no token is required; this is allowed only on loopback.
	Token func() string
	// ReadToken returns the bearer token that allows reading only. Nil means that there is none.
	ReadToken func() string
	// Login handles logins with a browser. Nil means that nobody can log in.
	Login *login.Login
	Log   *slog.Logger
}

// admin handles requests of the admin listener.
type admin struct {
	Options
	ready     atomic.Bool
	explained *explainers.Store
}

// NewAdmin returns the handler of the admin listener.
func NewAdmin(o Options) (http.Handler, error) {
	a := &admin{Options: o, explained: explainers.NewStore(o.Fleet)}
	guarded := http.NewServeMux()
	say, err := console.Handle(guarded, console.Options{
		Fleet: o.Fleet, Delivery: o.Delivery, Explained: a.explained,
		Repositories: repobrowser.NewStore(o.Fleet, o.Log), Version: o.Version, Log: o.Log,
		Who:  who,
		Pass: func(r *http.Request, pipeline string) string { return a.ask(r, pipeline, "") },
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
	a.letIn(open, say)
	open.Handle("/", a.guard(http.NewCrossOriginProtection().Handler(guarded)))
	return secured(open), err
}

// secured sets the security headers of all responses.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webpage.Secure(w.Header())
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// carries reports whether a request has the token, in constant time.
func carries(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	if _, password, basic := r.BasicAuth(); basic {
		scheme, given = "bearer", password
	}
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "bearer")
}

// namesLoopback reports whether a Host header names this machine, without DNS.
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

// healthz responds as long as the fleet does, and hangs if the fleet is deadlocked.
func (a *admin) healthz(w http.ResponseWriter, _ *http.Request) {
	a.Fleet.Remotes()
	_, _ = io.WriteString(w, "ok\n")
}

// readyz succeeds once every pipeline has been tried, and keeps succeeding: it reports whether this process works, not
// whether its inputs are valid.
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

// IsLoopback reports whether a listen address can be reached only from this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && namesLoopback(host)
}
