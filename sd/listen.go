package sd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	headerTimeout   = 5 * time.Second
	writeTimeout    = time.Minute // for the slowest consumer of the largest document
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 20 * time.Second
	maxHeaderBytes  = 16 << 10
)

// Listener is an address where a handler is served, over TLS if that is set.
type Listener struct {
	net.Listener
	Handler http.Handler
	TLS     *tls.Config
}

// Serve serves until ctx ends. Then it accepts no more requests and finishes those that were begun. An
// error of one listener ends all.
func Serve(ctx context.Context, log *slog.Logger, listeners ...Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	for _, l := range listeners {
		server := newServer(l, log)
		running.Go(func() {
			if err := serve(server, l); !errors.Is(err, http.ErrServerClosed) {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				cancel()
			}
		})
		running.Go(func() {
			<-ctx.Done()
			bounded, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer done()
			if server.Shutdown(bounded) != nil {
				_ = server.Close() // A client reads too slowly to wait for.
			}
		})
	}
	running.Wait()
	return failed
}

func newServer(l Listener, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: l.Handler, TLSConfig: l.TLS, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // These are errors of clients.
	}
}

func serve(server *http.Server, l Listener) error {
	if l.TLS != nil {
		return server.ServeTLS(l.Listener, "", "")
	}
	return server.Serve(l.Listener)
}

// ServerTLS makes the settings of a listener from files that may change: each new connection uses
// their present contents. With clientCAs, a client must have a certificate of one of them, or be
// another replica.
func ServerTLS(certificate func() *tls.Certificate, clientCAs func() *x509.CertPool) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		own := certificate()
		config := &tls.Config{MinVersion: base.MinVersion, NextProtos: base.NextProtos, Certificates: []tls.Certificate{*own}}
		if clientCAs != nil {
			config.ClientCAs, config.ClientAuth = withReplicas(clientCAs(), own), tls.RequireAndVerifyClientCert
		}
		return config, nil
	}
	return base
}

// requireBearer refuses requests without the token. They carry it as a bearer token or, for browsers,
// as the password of basic authentication.
func requireBearer(token func() string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if _, password, basic := r.BasicAuth(); basic {
			scheme, given = "bearer", password
		}
		got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token()))
		if !strings.EqualFold(scheme, "bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Add("WWW-Authenticate", "Bearer")
			w.Header().Add("WWW-Authenticate", `Basic realm="sd-aggregator: the token is the password"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
