package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Options decide how a fleet runs. The zero value of a field means its default.
type Options struct {
	// CacheDir holds the caches of the repositories. Required.
	CacheDir string
	// Version of agentry, for the trailers of commits.
	Version string
	// Workers is how many passes read and render at once. Default GOMAXPROCS.
	Workers int
	// MemoryBytes is what all pipelines together may keep between passes. Default 256 MiB.
	MemoryBytes int64
	// PassTimeout bounds each attempt of a pass, and each round of a remote. Default 10
	// minutes.
	PassTimeout time.Duration
	// Jitter is the share by which intervals differ from what the configuration says, up or
	// down. Default 0.05; negative: none.
	Jitter float64
	// MinGap lies at least between the beginnings of two passes of a pipeline, and of two
	// rounds of a remote. Default 1 second.
	MinGap time.Duration
	// Grace is how long passes under way may go on when Run is to end. Default 20 seconds.
	Grace time.Duration
	// Log gets a line for each change of a pipeline's or a remote's state. Default: none.
	Log *slog.Logger
	// Observers are told of passes and changes of state, in this order.
	Observers []Observer
	// Ownership says which pipelines this replica runs. Default: all.
	Ownership Ownership
	// Pool holds the repositories, for observers that read them too, and outlives the fleet.
	// Nil: one of its own in CacheDir.
	Pool *repo.Pool
	// Repo bounds what is fetched if there is no Pool.
	Repo repo.Options
}

// Defaults of [Options].
const (
	defaultMemoryBytes = 256 << 20
	defaultPassTimeout = 10 * time.Minute
	defaultJitter      = 0.05
	defaultMinGap      = time.Second
	defaultGrace       = 20 * time.Second
)

func (o *Options) setDefaults() {
	setDefault(&o.Workers, runtime.GOMAXPROCS(0))
	setDefault(&o.MemoryBytes, defaultMemoryBytes)
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

// engine is what a fleet stands on. Tests put something else in its place.
type engine struct {
	open   func(def *Definition, creds gitsync.Credentials, gate func(context.Context) (func(), error)) (passer, error)
	expand func(def *Definition, creds gitsync.Credentials, found func([]Definition)) (passer, error)
	// fetch lists and fetches refs, and enters their commits into tips.
	fetch  func(ctx context.Context, r *repo.Repo, since time.Time, refs []repo.Ref, tips map[repo.Ref]plumbing.Hash) error
	random func() float64 // from 0 to 1
	close  func() error
}

// Fleet runs pipelines. It is safe for concurrent use.
type Fleet struct {
	options Options
	engine  engine
	log     *slog.Logger
	workers slots // who reads or renders
	telling slots // who tells the observers
	busy    sync.WaitGroup
	hasNews chan struct{}

	mu       sync.Mutex
	rounds   context.Context // of rounds; nil before Run
	passes   context.Context // of passes, which may go on for a while
	ending   bool
	defs     []*Definition
	problems diag.List
	doubles  diag.List
	order    []*pipeline // as configured
	// pipelines also holds those that are gone and whose pass is under way.
	pipelines map[string]*pipeline
	remotes   map[*repo.Repo]*remote
	toOpen    []*pipeline
	limits    map[int]*window // of rollout.maxPerMinute
	waiting   map[*pipeline]struct{}
	changed   []*pipeline                // of which the observers are to be told
	kept      int64                      // bytes between passes
	idlers    map[chan struct{}]struct{} // of [Fleet.Idle]; woken when a pass has ended
	rest      alarm                      // gives memory back
}

// noteDelay is how long notes for promotion tools wait for others of the same repository.
const noteDelay = time.Second

// New makes a fleet without pipelines.
func New(opts Options) *Fleet {
	opts.setDefaults()
	pool, closePool := opts.Pool, func() error { return nil }
	if pool == nil {
		pool = repo.NewPool(opts.CacheDir, opts.Repo)
		closePool = pool.Close
	}
	batches := gitsync.NewBatches(noteDelay)
	return newFleet(opts, engine{
		open: func(def *Definition, creds gitsync.Credentials, gate func(context.Context) (func(), error)) (passer, error) {
			return gitsync.New(def.Pipeline, creds, gitsync.Options{Pool: pool, Gate: gate, Batches: batches, Version: opts.Version, Timeout: opts.PassTimeout})
		},
		expand: func(def *Definition, creds gitsync.Credentials, found func([]Definition)) (passer, error) {
			return newExpander(def, pool, creds, found)
		},
		fetch:  fetch,
		random: rand.Float64,
		close:  closePool,
	})
}

func newFleet(opts Options, e engine) *Fleet {
	opts.setDefaults()
	return &Fleet{
		options: opts, engine: e, log: opts.Log,
		workers: newSlots(opts.Workers), telling: newSlots(1), hasNews: make(chan struct{}, 1),
		pipelines: map[string]*pipeline{}, remotes: map[*repo.Repo]*remote{},
		limits: map[int]*window{}, waiting: map[*pipeline]struct{}{}, idlers: map[chan struct{}]struct{}{},
	}
}

func fetch(ctx context.Context, r *repo.Repo, since time.Time, refs []repo.Ref, tips map[repo.Ref]plumbing.Hash) error {
	found, err := r.FetchSince(ctx, since, refs...)
	for i, tip := range found {
		tips[refs[i]] = tip.Commit
	}
	return err
}

// Run runs the fleet until ctx ends, and then waits for the passes under way, for a while
// ([Options.Grace]). It is an error if some of them had to be cut off, which loses nothing.
// It may be called once.
func (f *Fleet) Run(ctx context.Context) error {
	passes, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	f.mu.Lock()
	f.rounds, f.passes = ctx, passes
	for _, p := range f.order {
		f.consider(p)
	}
	f.mu.Unlock()
	done, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		f.tellChanges(done)
	}()
	<-ctx.Done()
	late := f.settle(cutOff)
	close(done)
	<-told
	err := f.engine.close()
	if late > 0 {
		err = errors.Join(err, fmt.Errorf("passes that were cut off, as they took longer than %s: %d", f.options.Grace, late))
	}
	return err
}

// settle ends what is under way, and returns how many passes had to be cut off.
func (f *Fleet) settle(cutOff func()) (late int) {
	f.mu.Lock()
	f.ending = true
	for _, r := range f.remotes {
		r.alarm.stop()
	}
	for _, p := range f.pipelines {
		p.alarm.stop()
	}
	f.mu.Unlock()
	grace := time.AfterFunc(f.options.Grace, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range f.pipelines {
			if p.running {
				late++
			}
		}
		cutOff()
	})
	f.busy.Wait()
	grace.Stop()
	f.mu.Lock()
	f.rest.stop()
	for _, p := range f.pipelines {
		f.detach(p)
	}
	cut := late
	f.mu.Unlock()
	f.busy.Wait()
	return cut
}

// Trigger makes rounds, and passes, before they are due. It returns how many pipelines of
// this replica it reached.
func (f *Fleet) Trigger(t Trigger) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	reached, now := 0, time.Now()
	for _, p := range f.order {
		if !p.mayRun() || !t.isFor(p.def) {
			continue
		}
		reached++
		if t.Repository == "" {
			f.wants(p, wish{reason: cmp.Or(t.Reason, ReasonAPI), asked: now, token: t.Token})
		}
		if p.at == nil {
			p.notBefore = time.Time{}
			f.consider(p)
			continue
		}
		for _, m := range p.at.members {
			if t.Repository == "" || t.Repository == gitsync.RepositoryAddress(m.remote.repo.URL()) {
				m.remote.ask(cmp.Or(t.Reason, ReasonAPI))
			}
		}
		f.review(p)
	}
	f.planAll()
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
		if gitsync.RepositoryAddress(src.URL) == t.Repository {
			return true
		}
	}
	return gitsync.RepositoryAddress(def.Spec.Output.URL) == t.Repository
}
