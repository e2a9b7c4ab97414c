// Package service is `agentry serve`: a fleet, what feeds it (pipeline files, webhooks,
// signals), and what tells of it (HTTP, metrics, events, systemd), put together and taken
// down in order.
//
//	pipelinefile.Loader ──▶ fleet.Fleet ──▶ telemetry, notify, forge, oci, preview
//	internal/webhook ──▶    │      ◀── internal/server (page, API, triggers)
//
// It starts if there is any pipeline that can run, and from then on nothing in the
// configuration stops it.
package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/replica"
	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/internal/telemetry"
	"github.com/agentry-dev/agentry/internal/webhook"
)

// Options are the settings of a service.
type Options struct {
	// Path is a pipeline file, or a folder of them.
	Path string
	// Getenv reads credentials that are in environment variables, and what systemd says.
	Getenv  pipelinefile.Getenv
	Version string
	// CacheDir holds the caches of the repositories.
	CacheDir string
	// Workers, MemoryBytes, Jitter and Grace are those of [fleet.Options].
	Workers     int
	MemoryBytes int64
	Jitter      float64
	Grace       time.Duration
	// Listen is the address for webhooks; empty: none. AdminListen is that of everything else.
	Listen, AdminListen Address
	// TokenFile holds the bearer token of the admin listener, which it needs if it is not on
	// loopback.
	TokenFile string
	// Replicas says with whom the pipelines are shared.
	Replicas Replicas
	// MaxWebhookBytes bounds the body of a webhook; 0 is the default of its type.
	MaxWebhookBytes int64
	// Reload is sent to when the configuration is to be read again and everything triggered.
	Reload <-chan struct{}
	Log    *slog.Logger

	git repo.Options // of tests, which have less patience
}

// Address is a place to listen on, over TLS if it has a certificate, whose files may change.
type Address struct {
	Address           string
	CertFile, KeyFile string
}

// ConfigurationError says that there is no pipeline that could run.
type ConfigurationError struct{ Problems diag.List }

// Error implements error.
func (e *ConfigurationError) Error() string {
	if len(e.Problems) == 0 {
		return "the configuration holds no pipeline"
	}
	return e.Problems[0].Position() + ": " + e.Problems[0].Message
}

// service is what runs.
type service struct {
	options Options
	log     *slog.Logger
	fleet   *fleet.Fleet
	replica *replica.Replica // nil: it runs all pipelines
	loader  *pipelinefile.Loader
	hooks   *webhook.Handler
	metrics *telemetry.Service
	pool    *repo.Pool
	tellers []teller
	systemd systemd

	reloading sync.Mutex
	told      string // the problems of the configuration that were logged last
	secrets   map[string]hookSecrets
}

// Run serves until ctx ends, and ends what was begun.
func Run(ctx context.Context, o Options) error {
	s, err := newService(o)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.pool.Close(); err != nil {
			s.log.Warn("caches were not closed well", "err", err)
		}
	}()
	defs, problems, _ := s.loader.Load()
	if len(defs) == 0 && problems.HasErrors() {
		return &ConfigurationError{problems}
	}
	listeners, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.fleet.Set(defs, problems)
	s.tellProblems(problems)
	s.refreshHooks()
	return s.run(ctx, listeners)
}

func newService(o Options) (*service, error) {
	shares, err := newReplica(o)
	if err != nil {
		return nil, err
	}
	s := &service{
		replica: shares,
		options: o, log: o.Log, secrets: map[string]hookSecrets{},
		metrics: telemetry.NewService(o.Version),
		loader:  pipelinefile.NewLoader(pipelinefile.LoaderOptions{Path: o.Path, Getenv: o.Getenv}),
		systemd: newSystemd(o.Getenv),
	}
	o.git.Observe = s.metrics.Git
	s.pool = repo.NewPool(o.CacheDir, o.git)
	sites := &forge.Sites{}
	previews := s.tellOthers(sites)
	observers := []fleet.Observer{s.metrics}
	for _, t := range s.tellers {
		observers = append(observers, t.observer)
	}
	s.fleet = fleet.New(fleet.Options{
		CacheDir: o.CacheDir, Version: o.Version, Workers: o.Workers, MemoryBytes: o.MemoryBytes, Jitter: o.Jitter, Grace: o.Grace,
		Log: o.Log, Observers: observers, Ownership: s.ownership(), Pool: s.pool,
	})
	s.metrics.Watch(s.fleet, func() []telemetry.RateLimit { return limitsOf(sites) })
	s.hooks = webhook.New(webhook.Options{
		Trigger:      func(r string) { s.trigger(fleet.Trigger{Repository: r, Reason: fleet.ReasonWebhook}) },
		Preview:      previews.Trigger,
		Observe:      func(source string, result webhook.Result) { s.metrics.Webhook(source, string(result)) },
		MaxBodyBytes: o.MaxWebhookBytes, Log: o.Log,
	})
	if s.replica != nil {
		s.metrics.Registry().MustRegister(s.replica)
	}
	return s, nil
}

// run runs all parts. When ctx ends, nothing new is begun; the fleet ends its passes; then
// what they led to is told.
func (s *service) run(ctx context.Context, listeners []server.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var feeding, telling sync.WaitGroup
	tellCtx, endTelling := context.WithCancel(context.WithoutCancel(ctx))
	defer endTelling()
	for _, t := range s.tellers {
		telling.Go(func() {
			if err := t.run(tellCtx); err != nil {
				s.log.Warn("what others are told was cut off", "what", t.what, "err", err)
			}
		})
	}
	var sharing sync.WaitGroup
	shareCtx, endSharing := context.WithCancel(context.WithoutCancel(ctx))
	defer endSharing()
	if s.replica != nil {
		sharing.Go(func() { s.replica.Run(shareCtx, s.fleet) })
	}
	var serveErr error
	feeding.Go(func() {
		defer cancel() // Also when a listener broke.
		serveErr = server.Serve(ctx, s.log, listeners...)
	})
	feeding.Go(func() { s.loader.Watch(ctx, func([]fleet.Definition, diag.List) { s.reload() }) })
	feeding.Go(func() { s.attend(ctx) })
	feeding.Go(func() { s.systemd.watchdog(ctx, func() { s.fleet.Remotes() }) })
	s.started(listeners)
	stopping := context.AfterFunc(ctx, func() { s.systemd.tell("STOPPING=1") })
	defer stopping()
	if err := s.fleet.Run(ctx); err != nil {
		s.log.Warn("passes were cut off; nothing is lost, the next start makes them again", "err", err)
	}
	cancel()
	feeding.Wait()
	endTelling()
	telling.Wait()
	endSharing() // What was told was told as the holder of its pipelines.
	sharing.Wait()
	s.log.Info("stopped")
	return serveErr
}

func (s *service) started(listeners []server.Listener) {
	attributes := []any{"version", s.options.Version, "pipelines", len(s.fleet.Definitions())}
	for i, l := range listeners {
		attributes = append(attributes, []string{"admin", "listen"}[i], l.Addr().String())
	}
	s.log.Info("started", attributes...)
	s.systemd.tell("READY=1")
}

// attend waits for signals, and for secrets that were renewed.
func (s *service) attend(ctx context.Context) {
	ticker := time.NewTicker(hookRefresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.refreshHooks()
		case <-s.options.Reload:
			s.systemd.reloading()
			s.log.Info("reloading")
			s.reload()
			s.fleet.Trigger(fleet.Trigger{Reason: fleet.ReasonSignal})
			s.systemd.tell("READY=1")
		}
	}
}

// reload reads the configuration and hands it to the fleet, for which what is the same is no
// change.
func (s *service) reload() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	defs, problems, _ := s.loader.Load()
	s.fleet.Set(defs, problems)
	s.tellProblems(problems)
	s.metrics.Reloaded(!problems.HasErrors())
	s.setHooks()
}

// tellProblems logs what is wrong with the configuration, once.
func (s *service) tellProblems(problems diag.List) {
	text := ""
	for _, d := range problems {
		text += d.String() + "\n"
	}
	before := s.told
	if s.told = text; text == before {
		return
	}
	if text == "" {
		s.log.Info("the configuration is good again")
		return
	}
	for _, d := range problems {
		level := slog.LevelWarn
		if d.Severity == diag.Error {
			level = slog.LevelError
		}
		s.log.Log(context.Background(), level, "the configuration has a problem", "position", d.Position(), "problem", d.Advice())
	}
}

// listen opens the admin listener, and the one for webhooks.
func (s *service) listen(ctx context.Context) ([]server.Listener, error) {
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	admin := server.NewAdmin(server.Options{
		Fleet: s.fleet, Trigger: s.trigger, Version: s.options.Version,
		Metrics: s.metrics.Registry(), Token: token, Log: s.log,
	})
	first, err := s.open(ctx, s.options.AdminListen)
	if err != nil {
		return nil, err
	}
	first.Handler = admin
	out := []server.Listener{first}
	if token != nil && first.TLS == nil && !server.IsLoopback(first.Addr().String()) {
		s.log.Warn("the bearer token travels without TLS: anyone on the way can read it")
	}
	if s.options.Listen.Address == "" {
		return out, nil
	}
	second, err := s.open(ctx, s.options.Listen)
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	second.Handler = s.hooks
	return append(out, second), nil
}

func (s *service) open(ctx context.Context, a Address) (server.Listener, error) {
	var out server.Listener
	if a.CertFile != "" {
		pair, err := keyPair(a, s.reloadFailed)
		if err != nil {
			return out, err
		}
		out.TLS = server.TLS(pair)
	}
	var config net.ListenConfig
	var err error
	out.Listener, err = config.Listen(ctx, "tcp", a.Address)
	return out, err
}
