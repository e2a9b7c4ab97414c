package fleet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
)

// Options decide how a fleet runs. The zero value of a field means its default.
type Options struct {
	// CacheDir holds the caches of the repositories. Required.
	CacheDir string
	// Version of agentry, for the trailers of commits.
	Version string
	// Workers is how many passes read and render at once. Default GOMAXPROCS.
	Workers int
	// MemoryBytes limits the memory that all pipelines together keep between passes. Default: a quarter of
	// the memory of the process, at least 256 MiB.
	MemoryBytes int64
	// PassTimeout bounds a pass, and each round of a remote. A pass that is in a library that cannot be stopped is left
	// alone then: others get its place, and its pipeline waits until it has ended. Default 10 minutes.
	PassTimeout time.Duration
	// Jitter is the share by which intervals differ from the configured ones, up or down. Default
	// 0.05; negative: none.
	Jitter float64
	// MinGap is the least time between the beginnings of two passes of a pipeline, and of two rounds
	// of a remote. Default 1 second.
	MinGap time.Duration
	// Grace is how long running passes may go on when Run is to end. Default 20 seconds.
	Grace time.Duration
	// Log gets a line for each change of a pipeline's or a remote's state. Default: none.
	Log *slog.Logger
	// Observers get passes and changes of state, in this order.
	Observers []Observer
	// Passive: the fleet makes no passes before [Fleet.SetActive].
	Passive bool
	// Pool holds the repositories. Observers that read them share it; it outlives the fleet. Nil: the
	// fleet opens its own in CacheDir.
	Pool *repo.Pool
}

// Defaults of [Options].
const (
	minMemoryBytes     = 256 << 20
	memoryPart         = 4
	defaultPassTimeout = 10 * time.Minute
	defaultJitter      = 0.05
	defaultMinGap      = time.Second
	defaultGrace       = 20 * time.Second
)

func (o *Options) setDefaults() {
	setDefault(&o.Workers, runtime.GOMAXPROCS(0))
	setDefault(&o.MemoryBytes, max(minMemoryBytes, budget.Memory()/memoryPart))
	setDefault(&o.PassTimeout, defaultPassTimeout)
	setDefault(&o.MinGap, defaultMinGap)
	setDefault(&o.Grace, defaultGrace)
	if o.Jitter == 0 {
		o.Jitter = defaultJitter
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Fleet runs pipelines. It is safe for concurrent use.
//
// Its parts have locks of their own, which are taken after Fleet.mu. That guards the fields below it.
type Fleet struct {
	options  Options
	backend  backend
	log      *slog.Logger
	workers  *places // of passes that read or render
	remotes  *remotes
	memory   *memory
	notifier *notifier
	busy     sync.WaitGroup // what Run waits for

	mu        sync.Mutex
	ctx       context.Context // of Run, for passes that alarms start; ends when nothing new may begin; nil before Run
	passes    context.Context // of passes, which outlive ctx by up to Grace
	ending    bool
	defs      []*Definition        // as configured; order has what was made of folders as well
	problems  diag.List            // of the configuration
	doubles   diag.List            // names that are defined twice
	order     []*runner            // in the order of the configuration
	pipelines map[string]*runner   // including removed ones whose pass still runs
	limiters  map[int]*pushLimiter // by rollout.maxPerMinute
	active    bool                 // passes are made; otherwise another replica makes them
}

// noteDelay is how long notes for promotion tools are collected, so that one push takes all of a
// repository.
const noteDelay = time.Second

// New makes a fleet without pipelines.
func New(opts Options) *Fleet {
	opts.setDefaults()
	pool, closePool := opts.Pool, func() {}
	if pool == nil {
		pool = repo.NewPool(opts.CacheDir, repo.Options{})
		closePool = pool.Close
	}
	batches := publish.NewBatches(noteDelay)
	memory := worker.NewSharedMemory(budget.Memory())
	charts := helm.NewWorkers(helm.Options{Memory: memory})
	building := kustomizer.NewWorkers(kustomizer.Options{Memory: memory})
	decrypting := sops.NewWorkers(sops.Options{Memory: memory})
	store := chart.NewStore(chart.Options{Folder: filepath.Join(pool.Dir(), "charts")})
	return newFleet(opts, backend{
		open: func(def *Definition, creds gitsync.Credentials, keep int64, enter gate) (syncer, error) {
			return gitsync.New(def.Pipeline, creds,
				gitsync.Options{Pool: pool, Gate: enter, Batches: batches, Charts: charts, Kustomize: building,
					SOPS: decrypting, ChartStore: store, KeepBytes: keep, Version: opts.Version,
					Timeout: opts.PassTimeout})
		},
		expand: func(def *Definition, creds gitsync.Credentials) (templateSyncer, error) {
			return newExpander(def, pool, creds)
		},
		fetch:  fetch,
		random: rand.Float64,
		close: func() {
			charts.Close()
			building.Close()
			decrypting.Close()
			closePool()
		},
	})
}

func newFleet(opts Options, e backend) *Fleet {
	opts.setDefaults()
	f := &Fleet{
		options: opts, backend: e, log: opts.Log,
		workers: newPlaces(opts.Workers), memory: newMemory(opts.MemoryBytes),
		notifier:  newNotifier(opts.Observers, opts.Log),
		pipelines: map[string]*runner{}, limiters: map[int]*pushLimiter{}, active: !opts.Passive,
	}
	f.remotes = &remotes{options: opts, backend: e, busy: &f.busy, before: f.renew, after: f.roundEnded,
		all: map[*repo.Repo]*remote{}}
	return f
}

func fetch(ctx context.Context, r *repo.Repo, since time.Time, refs []repo.Ref, tips map[repo.Ref]plumbing.Hash) error {
	found, err := r.FetchSince(ctx, since, refs...)
	for i, tip := range found {
		tips[refs[i]] = tip.Commit
	}
	return err
}

// Run runs the fleet until ctx ends, and then waits for running passes up to [Options.Grace]. It returns an error if
// passes had to be cancelled, which loses nothing: a push is taken as a whole, or not at all. A pass that does not end
// even then is left to the end of the process. It may be called once.
func (f *Fleet) Run(ctx context.Context) error {
	passes, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		f.notifier.run(passes)
	}()
	f.mu.Lock()
	f.ctx, f.passes = ctx, passes
	f.remotes.start(ctx)
	f.schedule(f.order...)
	f.mu.Unlock()
	<-ctx.Done()
	late := f.settle(cancel)
	f.notifier.close()
	<-reported
	f.backend.close()
	if late > 0 {
		return fmt.Errorf("passes cancelled because they took longer than %s: %d", f.options.Grace, late)
	}
	return nil
}

// settle waits until nothing runs any more, and returns how many passes had to be cancelled.
func (f *Fleet) settle(cancel func()) (late int) {
	f.mu.Lock()
	f.ending = true
	for _, p := range f.pipelines {
		p.alarm.stop()
	}
	f.mu.Unlock()
	f.remotes.stop()
	grace := time.AfterFunc(f.options.Grace, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range f.pipelines {
			if p.phase == phasePassing || p.phase == phaseStuck {
				late++
			}
		}
		cancel()
	})
	limit := time.NewTimer(f.options.Grace + stopTime)
	defer limit.Stop()
	f.settled(limit)
	grace.Stop()
	f.memory.stop()
	f.mu.Lock()
	for _, p := range f.pipelines {
		f.detach(p)
	}
	cut := late
	f.mu.Unlock()
	f.settled(limit)
	return cut
}

// settled waits until nothing runs any more, or the time is over.
func (f *Fleet) settled(limit *time.Timer) {
	all := make(chan struct{})
	go func() {
		f.busy.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-limit.C:
		limit.Reset(0) // for the next one
	}
}

// isRunning reports whether new work may begin. f.mu is held.
func (f *Fleet) isRunning() bool { return f.ctx != nil && f.ctx.Err() == nil && !f.ending }

// Gate waits for one of the [Options.Workers], for callers outside the fleet that render too. Release
// gives it back.
func (f *Fleet) Gate(ctx context.Context) (release func(), err error) {
	return f.workers.enter(ctx, &pace{})
}

// Trigger makes rounds, and passes, before they are due. It returns how many pipelines it
// reached: none while another replica makes the passes.
func (f *Fleet) Trigger(t Trigger) (reached int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var closed []*runner
	for _, p := range f.order {
		if !p.mayRun() || !t.isFor(p.def) {
			continue
		}
		reached++
		reason := cmp.Or(t.Reason, ReasonAPI)
		if t.Repository == "" {
			p.ask(request{reason: reason, asked: time.Now(), token: t.Token}, f.options.MinGap)
		}
		if p.instance == nil {
			p.notBefore = time.Time{}
			closed = append(closed, p)
			continue
		}
		f.remotes.ask(p.instance, t.Repository, reason, nil)
		f.review(p)
	}
	f.remotes.plan()
	f.schedule(closed...)
	return reached
}

// isFor reports whether a trigger concerns a pipeline.
func (t Trigger) isFor(def *Definition) bool {
	if t.Pipeline != "" && t.Pipeline != def.Metadata.Name {
		return false
	}
	if t.Repository == "" {
		return true
	}
	for _, src := range def.Spec.Sources {
		if pipeline.RepositoryAddress(src.URL) == t.Repository {
			return true
		}
	}
	return pipeline.RepositoryAddress(def.Spec.Output.URL) == t.Repository
}
