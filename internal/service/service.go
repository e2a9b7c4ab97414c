// Package service is `agentry serve`: it connects a fleet to its inputs (pipeline files, webhooks, signals) and its
// outputs (HTTP, metrics, notifications, systemd), and stops them in order.
//
//	pipelinefile.Loader ──▶ fleet.Fleet ──▶ telemetry, notify, forge, oci, preview
//	internal/webhook ──▶    │      ◀── internal/server (page, API, triggers)
//	                        ▼
//	                 internal/delivery ◀── reports of Flux and Argo CD
//
// It starts if any pipeline can run. After that, no change of the configuration stops it.
package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/preview"
	"github.com/agentry-dev/agentry/internal/replica"
	"github.com/agentry-dev/agentry/internal/telemetry"
	"github.com/agentry-dev/agentry/internal/webhook"
)

// Options are the settings of a service.
type Options struct {
	// Path is a pipeline file, or a folder of them.
	Path string
	// Getenv reads environment variables: credentials, and those that systemd sets.
	Getenv  pipelinefile.Getenv
	Version string
	// CacheDir has the caches of the repositories.
	CacheDir string
	// Workers, MemoryBytes, Jitter and Grace are as in [fleet.Options].
	Workers     int
	MemoryBytes int64
	Jitter      float64
	Grace       time.Duration
	// Listen is the address for webhooks; empty for none. AdminListen is the address for everything else.
	Listen, AdminListen Address
	// TokenFile has the bearer token of the admin listener. It or Login is required unless that listener is on
	// loopback.
	TokenFile string
	// ReadTokenFile has a second token, which allows reading but not starting passes.
	ReadTokenFile string
	// Login has the settings for logging in to the console. Without an issuer nobody can.
	Login Login
	// Replicas elects the replica that runs the pipelines.
	Replicas Replicas
	// DeliveryTokenFile has the token of Flux and Argo CD, which report to Listen what they have applied. Empty: their
	// reports are refused.
	DeliveryTokenFile string
	// MaxWebhookBytes limits the body of a webhook; 0 means the default of its type.
	MaxWebhookBytes int64
	// Reload receives a value when the configuration must be read again and all pipelines triggered.
	Reload <-chan struct{}
	Log    *slog.Logger

	git repo.Options // set by tests, for shorter timeouts
}

// ConfigurationError means that no pipeline can run.
type ConfigurationError struct{ Problems diag.List }

// Error implements error.
func (e *ConfigurationError) Error() string {
	if len(e.Problems) == 0 {
		return "the configuration has no pipeline"
	}
	return e.Problems[0].Position() + ": " + e.Problems[0].Problem()
}

// service has all parts of a running service.
type service struct {
	options   Options
	log       *slog.Logger
	fleet     *fleet.Fleet
	login     *login.Login     // nil: nobody can log in
	replica   *replica.Replica // nil if there are no others, so that this one is always active
	loader    *pipelinefile.Loader
	hooks     *webhook.Handler
	gate      *intake.Gate    // of the listener for webhooks
	delivery  *delivery.Store // nil: nobody may report
	metrics   *telemetry.Service
	pool      *repo.Pool
	previews  *preview.Previewer
	notifiers []notifier
	systemd   systemd

	reloading sync.Mutex // guards the fields below
	logged    string     // the last logged problems of the configuration
	secrets   map[string]hookSecrets
}

// Run serves until ctx ends, and then stops everything in order.
func Run(ctx context.Context, o Options) error {
	s, err := newService(o)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	defs, problems, _ := s.loader.Load()
	if len(defs) == 0 && problems.HasErrors() {
		return &ConfigurationError{problems}
	}
	listeners, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.fleet.Set(defs, problems)
	s.logProblems(problems)
	s.refreshHooks()
	return s.run(ctx, listeners)
}

func newService(o Options) (*service, error) {
	member, err := newReplica(o)
	if err != nil {
		return nil, err
	}
	s := &service{
		options: o, log: o.Log, replica: member, secrets: map[string]hookSecrets{},
		metrics: telemetry.NewService(o.Version),
		loader:  pipelinefile.NewLoader(pipelinefile.LoaderOptions{Path: o.Path, Getenv: o.Getenv}),
		systemd: newSystemd(o.Getenv), gate: intake.New(),
	}
	o.git.Observe = s.metrics.Git
	s.pool = repo.NewPool(o.CacheDir, o.git)
	sites := &forge.Sites{}
	s.previews = s.newPreviewer(sites)
	s.notifiers = s.newNotifiers(sites)
	observers := []fleet.Observer{s.metrics}
	if s.delivery != nil {
		observers = append(observers, s.delivery)
	}
	for _, n := range s.notifiers {
		observers = append(observers, n.observer)
		if n.stats != nil {
			s.metrics.Outbox(n.name, n.stats)
		}
	}
	s.fleet = fleet.New(fleet.Options{
		CacheDir: o.CacheDir, Version: o.Version, Workers: o.Workers, MemoryBytes: o.MemoryBytes, Jitter: o.Jitter,
		Grace: o.Grace,
		Log:   o.Log, Observers: observers, Passive: s.replica != nil, Pool: s.pool,
	})
	s.metrics.Watch(s.fleet, sites.Remaining)
	s.hooks = webhook.New(webhook.Options{
		Trigger: func(r string) { s.trigger(fleet.Trigger{Repository: r, Reason: fleet.ReasonWebhook}) },
		Preview: func(r string) { s.trigger(fleet.Trigger{Repository: r, Reason: reasonPullRequest}) },
		Observe: func(source string, result webhook.Result) { s.metrics.Webhook(source, string(result)) },
		Gate:    s.gate, MaxBodyBytes: o.MaxWebhookBytes, Log: o.Log,
	})
	if s.replica != nil {
		s.metrics.Registry().MustRegister(s.replica)
	}
	return s, nil
}

// grace limits how long requests may continue when the service stops.
const grace = 5 * time.Second

// run runs all parts. When ctx ends, they stop in this order: the inputs; the fleet, after its passes; the notifiers,
// after the notifications of those passes; the replica, because only the active one may notify.
func (s *service) run(ctx context.Context, listeners []httpserver.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopReplica := s.background(ctx, func(ctx context.Context) {
		if s.replica != nil {
			s.replica.Run(ctx, directed{s})
		}
	})
	stopNotifiers := s.background(ctx, s.notify)
	var inputs sync.WaitGroup
	var serveErr error
	inputs.Go(func() {
		defer cancel() // even after an error of a listener
		serveErr = httpserver.Serve(ctx, s.log, grace, listeners...)
	})
	inputs.Go(func() { s.loader.Watch(ctx, func([]fleet.Definition, diag.List) { s.reload() }) })
	inputs.Go(func() { s.watch(ctx) })
	if s.login != nil {
		inputs.Go(func() { s.login.Discover(ctx) }) // so that the log shows problems of the issuer at once
	}
	inputs.Go(func() { s.systemd.watchdog(ctx, func() { s.fleet.Remotes() }) })
	s.started(listeners)
	stopping := context.AfterFunc(ctx, func() { s.systemd.notify("STOPPING=1") })
	defer stopping()
	if err := s.fleet.Run(ctx); err != nil {
		s.log.Warn("passes were cancelled: the next start repeats them", "err", err)
	}
	cancel()
	inputs.Wait()
	stopNotifiers()
	stopReplica()
	s.log.Info("stopped")
	return serveErr
}

// background runs a function that outlives ctx. stop ends it and waits for it.
func (s *service) background(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func (s *service) started(listeners []httpserver.Listener) {
	attributes := []any{"version", s.options.Version, "pipelines", len(s.fleet.Definitions())}
	for i, l := range listeners {
		attributes = append(attributes, []string{"admin", "listen"}[i], l.Addr().String())
	}
	s.log.Info("started", attributes...)
	s.systemd.notify("READY=1")
}

// watch waits for reload signals, and reads the secrets of webhooks regularly.
func (s *service) watch(ctx context.Context) {
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
			s.systemd.notify("READY=1")
		}
	}
}

// reload reads the configuration and passes it to the fleet, which does not restart unchanged pipelines.
func (s *service) reload() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	defs, problems, _ := s.loader.Load()
	s.fleet.Set(defs, problems)
	s.logProblems(problems)
	s.metrics.Reloaded(!problems.HasErrors())
	s.setHooks()
}

// logProblems logs the problems of the configuration when they change.
func (s *service) logProblems(problems diag.List) {
	text := ""
	for _, d := range problems {
		text += d.String() + "\n"
	}
	before := s.logged
	if s.logged = text; text == before {
		return
	}
	if text == "" {
		s.log.Info("the configuration no longer has problems")
		return
	}
	for _, d := range problems {
		level := slog.LevelWarn
		if d.Severity == diag.Error {
			level = slog.LevelError
		}
		s.log.Log(context.Background(), level, "the configuration has a problem", "position", d.Position(), "problem",
			d.Advice())
	}
}
