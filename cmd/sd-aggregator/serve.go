package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/internal/kubeconfig"
	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/rotate"
)

// grace is the time that requests have to finish when the program stops, enough to read a large document slowly.
const grace = 20 * time.Second

// serve runs the aggregator until ctx ends.
func serve(ctx context.Context, s settings, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: s.logLevel}))
	var aggregator *sd.Aggregator
	files := files{failed: func(err error) { aggregator.ReloadFailed(err) }} // called only after aggregator is set
	source, err := s.source(log)
	if err != nil {
		return usagef("use --kubeconfig outside a cluster, or --dns without an API server",
			"cannot reach the API server: %v", err)
	}
	s.options.Source, s.options.Log = source, log
	if s.https {
		if s.options.PodTLS, err = files.podTLS(s); err != nil {
			return usagef("", "%v", err)
		}
	}
	guard, err := files.guard(s)
	if err != nil {
		return usagef("", "%v", err)
	}
	if s.peers != nil {
		s.peers.Resolver, s.peers.TLS, s.peers.Token = net.DefaultResolver, guard.peerTLS, guard.token
		s.options.Peers = s.peers
	}
	listener, admin, err := listen(ctx, s)
	if err != nil {
		return usagef("", "%v", err)
	}
	if guard.token != nil && guard.tls == nil {
		log.Warn("the bearer token is sent without TLS: anyone on the path can read it")
	}
	aggregator = sd.New(s.options)
	log.Info("started", "version", s.options.Version, "listen", listener.Addr(), "admin", admin.Addr(), "tls",
		guard.tls != nil)
	working, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // also if a listener fails
	running.Go(func() { aggregator.Run(working) })
	err = httpserver.Serve(working, log, grace,
		httpserver.Listener{Listener: listener, Handler: aggregator.Handler(guard.token), TLS: guard.tls},
		httpserver.Listener{Listener: admin, Handler: aggregator.AdminHandler()})
	log.Info("stopped")
	return err
}

func (s settings) source(log *slog.Logger) (discover.Source, error) {
	if len(s.names) > 0 {
		return discover.NewDNS(discover.DNSOptions{Names: s.names, Resolver: net.DefaultResolver, Log: log}), nil
	}
	config, err := kubeconfig.Load(s.kubeconfig)
	if err != nil {
		return nil, err
	}
	return discover.NewSlices(discover.SlicesOptions{Config: config, Namespaces: s.namespaces, Log: log})
}

func listen(ctx context.Context, s settings) (listener, admin net.Listener, err error) {
	var config net.ListenConfig
	if listener, err = config.Listen(ctx, "tcp", s.listen); err != nil {
		return nil, nil, err
	}
	if admin, err = config.Listen(ctx, "tcp", s.adminListen); err != nil {
		_ = listener.Close()
		return nil, nil, err
	}
	return listener, admin, nil
}

// files makes settings from files that can change.
type files struct{ failed func(error) }

// classicalCurves returns the curves without post-quantum hybrids, which would take a fifth of the CPU time of a poll.
// A list of integrations need not stay secret for decades, and certificates prove the pod's identity.
func classicalCurves() []tls.CurveID {
	return []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
}

// podTLS returns the settings for connections to pods.
func (f files) podTLS(s settings) (func() *tls.Config, error) {
	var (
		roots *rotate.Value[*x509.CertPool]
		pair  *rotate.Value[*tls.Certificate]
		err   error
	)
	if s.podCA != "" {
		if roots, err = rotate.Pool(s.podCA, f.failed); err != nil {
			return nil, err
		}
	}
	if s.podCert != "" {
		if pair, err = rotate.KeyPair(s.podCert, s.podKey, f.failed); err != nil {
			return nil, err
		}
	}
	return func() *tls.Config {
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.podName, CurvePreferences: classicalCurves()}
		if roots != nil {
			config.RootCAs = roots.Get()
		}
		if pair != nil {
			config.Certificates = []tls.Certificate{*pair.Get()}
		}
		return config
	}, nil
}

// guard is the protection of the document. Unset fields are nil.
type guard struct {
	tls   *tls.Config
	token func() string
	// peerTLS makes the settings of requests to other replicas, which have the same guard.
	peerTLS func() *tls.Config
}

func (f files) guard(s settings) (guard, error) {
	var g guard
	if s.tlsCert != "" {
		pair, err := rotate.KeyPair(s.tlsCert, s.tlsKey, f.failed)
		if err != nil {
			return g, err
		}
		var clients func() *x509.CertPool
		if s.clientCA != "" {
			pool, err := rotate.Pool(s.clientCA, f.failed)
			if err != nil {
				return g, err
			}
			clients = pool.Get
		}
		g.tls, g.peerTLS = sd.ServerTLS(pair.Get, clients), sd.PeerTLS(pair.Get)
	}
	if s.tokenFile != "" {
		value, err := rotate.Token(s.tokenFile, f.failed)
		if err != nil {
			return g, err
		}
		g.token = value.Get
	}
	return g, nil
}
