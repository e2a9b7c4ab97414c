// Package httpserver serves HTTP for all programs: connections, headers and times are limited, a panic ends only its
// request and its value is not logged, and running requests are finished before shutdown.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/panics"
)

// Limits of connections.
const (
	headerTimeout = 5 * time.Second
	// readTimeout limits reading a request with its body. Webhooks have a shorter limit.
	readTimeout    = 30 * time.Second
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
)

// Listener serves a handler at an address, with TLS if it is set.
type Listener struct {
	net.Listener
	Handler http.Handler
	TLS     *tls.Config
}

// Serve serves until ctx ends. Then it accepts no new connections, and finishes running requests for at most grace. An
// error of one listener stops all.
func Serve(ctx context.Context, log *slog.Logger, grace time.Duration, listeners ...Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, l := range listeners {
		l.Listener = limitConnections(l.Listener)
		server := newServer(l, log)
		running.Go(func() {
			if err := serve(server, l); !errors.Is(err, http.ErrServerClosed) {
				cancel(brokenError{fmt.Errorf("listener %s: %w", l.Addr(), err)})
			}
		})
		running.Go(func() {
			<-ctx.Done()
			bounded, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer done()
			if server.Shutdown(bounded) != nil {
				_ = server.Close() // a client is too slow to wait for
			}
		})
	}
	running.Wait()
	if broken, ok := errors.AsType[brokenError](context.Cause(ctx)); ok {
		return broken.error
	}
	return nil
}

// brokenError is the cause of the cancellation of a context by a listener's error.
type brokenError struct{ error }

func newServer(l Listener, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: recoverPanics(l.Handler, log), TLSConfig: l.TLS, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // errors of clients
	}
}

// recoverPanics ends a request whose handler panics. net/http would do so too, but log the panic's value.
func recoverPanics(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if value := recover(); value != nil {
				if value != http.ErrAbortHandler {
					_ = panics.Log(log, "request", r.URL.Path, value)
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func serve(server *http.Server, l Listener) error {
	if l.TLS != nil {
		return server.ServeTLS(l.Listener, "", "")
	}
	return server.Serve(l.Listener)
}

// TLS returns the configuration of a listener whose certificate can change: each connection gets the current one.
func TLS(certificate func() *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate(), nil },
	}
}
