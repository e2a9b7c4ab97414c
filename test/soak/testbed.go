package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// smallDiskBytes is the size of the small disk with the cache of one replica.
const smallDiskBytes = 64 << 20

// testbed is the whole environment: remotes, replicas, pipelines, authors, actors and faults.
type testbed struct {
	options
	server   *exec.Cmd
	repos    []*remote
	authors  []*author
	config   *configuration
	actors   *actors
	replicas []*replica
	disk     string // the cache of the replica with a small disk; empty if there is none
	pushes   chan struct{}
	events   *log
	counts   counts
	failures failures
}

// counts counts events.
type counts struct {
	commits, rewinds, webhooks, kills, ends, stops, damages atomic.Int64
	cuts, rejects, edits, merges, rewrites, fulls, configs  atomic.Int64
	moved, rendered, looked, versions, units                atomic.Int64
}

// String implements fmt.Stringer.
func (c *counts) String() string {
	var parts []string
	for _, one := range []struct {
		n    *atomic.Int64
		what string
	}{
		{&c.commits, "commits of inputs"}, {&c.rewinds, "taken back by force"}, {&c.webhooks, "webhooks"},
		{&c.kills, "kills"}, {&c.ends, "graceful ends"},
		{&c.stops, "stops"}, {&c.damages, "caches damaged"}, {&c.fulls, "full disks"},
		{&c.cuts, "faults of the network"}, {&c.rejects, "times that pushes were rejected"},
		{&c.configs, "pipeline files rewritten"}, {&c.edits, "edits of outputs"},
		{&c.rewrites, "outputs deleted or rewritten"}, {&c.merges, "proposals merged"},
		{&c.moved, "refs moved by replicas"}, {&c.rendered, "output branches checked"},
		{&c.looked, "commits of replicas checked"}, {&c.units, "units expected"},
		{&c.versions, "held versions found"},
	} {
		parts = append(parts, fmt.Sprintf("%d %s", one.n.Load(), one.what))
	}
	return strings.Join(parts, ", ")
}

// failures are the violations found.
type failures struct {
	mu  sync.Mutex
	all []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
}

// fail records a violation, and goes on.
func (w *testbed) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	w.events.say("FAILED: %v", err)
	w.failures.add(err)
}

func (w *testbed) failure() error {
	w.failures.mu.Lock()
	defer w.failures.mu.Unlock()
	return errors.Join(w.failures.all...)
}

// log is a file with the events and their times.
type log struct {
	mu   sync.Mutex
	file *os.File
}

func (l *log) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.file, "%s "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
}

// random returns the random numbers of an author, the actors or the faults.
func (o options) random(who uint64) *rand.Rand { return rand.New(rand.NewPCG(o.seed, who)) }

// The indices of random numbers. Authors use the indices from the first one on.
const (
	whoKills uint64 = iota
	whoFaults
	whoActors
	whoConfig
	whoWrites
	whoAuthor
)

const webhookSecret = "a secret of webhooks"

func newTestbed(o options) (_ *testbed, err error) {
	w := &testbed{options: o, pushes: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, name := range []string{"remotes", "pipelines", "logs"} {
		if err := os.MkdirAll(filepath.Join(o.dir, name), 0o755); err != nil {
			return nil, err
		}
	}
	file, err := os.Create(filepath.Join(o.dir, "logs", "events.log"))
	if err != nil {
		return nil, err
	}
	w.events = &log{file: file}
	address, err := w.startServer()
	if err != nil {
		return nil, err
	}
	if err := w.newRemotes(address); err != nil {
		return nil, err
	}
	secret := filepath.Join(o.dir, "webhook.secret")
	if err := os.WriteFile(secret, []byte(webhookSecret), 0o600); err != nil {
		return nil, err
	}
	w.config = &configuration{dir: filepath.Join(o.dir, "pipelines"), secret: secret, remotes: w.repos}
	for k := range w.repos {
		w.config.pipelines = append(w.config.pipelines, newPipelines(k, o.remotes, o.pipelines)...)
	}
	if err := w.config.reset(); err != nil {
		return nil, err
	}
	w.actors = &actors{testbed: w, rand: w.random(whoActors), done: map[string][]action{},
		tampered: map[string]map[string]bool{}}
	return w, w.newReplicas()
}

// startServer starts the Git server and returns its address.
func (w *testbed) startServer() (string, error) {
	w.server = part(roleGit, filepath.Join(w.dir, "remotes"))
	if _, err := w.server.StdinPipe(); err != nil {
		return "", err
	}
	var err error
	if w.server.Stderr, err = os.Create(filepath.Join(w.dir, "logs", "git.log")); err != nil {
		return "", err
	}
	out, err := w.server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := w.server.Start(); err != nil {
		return "", err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(address), err
}

// newRemotes makes the repositories with their first commits.
func (w *testbed) newRemotes(address string) error {
	for k := range w.options.remotes {
		r, err := newRemote(filepath.Join(w.dir, "remotes", fmt.Sprintf("r%d.git", k)))
		if err != nil {
			return err
		}
		if r.generous = k < 2; r.generous {
			if _, err := r.git("config", "uploadpack.allowAnySHA1InWant", "true"); err != nil {
				return err
			}
		}
		if r.proxy, err = newProxy(address, w.pushes); err != nil {
			return err
		}
		r.url = fmt.Sprintf("http://%s/r%d.git", r.proxy.listener.Addr(), k)
		w.repos = append(w.repos, r)
		a := newAuthor(r, w.random(whoAuthor+uint64(k)), pipelinesPerRemote-1, k == 0)
		if err := a.commit("The first inputs"); err != nil {
			return err
		}
		w.authors = append(w.authors, a)
	}
	return nil
}

func (w *testbed) newReplicas() error {
	for n := range replicas {
		cache := filepath.Join(w.dir, fmt.Sprintf("cache-%d", n))
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return err
		}
		if n == 0 && smallDisk(cache, smallDiskBytes) {
			w.disk = cache
		}
		file, err := os.Create(filepath.Join(w.dir, "logs", fmt.Sprintf("replica-%d.log", n)))
		if err != nil {
			return err
		}
		r := &replica{n: n, cache: cache, config: w.config.dir, log: file, report: w.fail}
		if err := r.start(); err != nil {
			return err
		}
		w.replicas = append(w.replicas, r)
	}
	return nil
}

// stop ends the replicas like a system operator.
func (w *testbed) stop() error {
	errs := make([]error, len(w.replicas))
	var all sync.WaitGroup
	for i, r := range w.replicas {
		all.Go(func() {
			r.hold(false)
			_, errs[i] = r.end(stopSignal)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// close ends everything that runs.
func (w *testbed) close() {
	for _, r := range w.replicas {
		_, _ = r.end(os.Kill)
		_ = r.log.Close()
	}
	if w.disk != "" {
		_ = unmount(w.disk)
	}
	if w.server != nil && w.server.Process != nil {
		_ = w.server.Process.Kill()
		_ = w.server.Wait()
	}
	for _, r := range w.repos {
		if r.proxy != nil {
			r.proxy.close()
		}
	}
	if w.events != nil {
		_ = w.events.file.Close()
	}
}

// runFaults lets authors, actors and faults act for a while.
func (w *testbed) runFaults(ctx context.Context, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var all sync.WaitGroup
	for _, act := range []func(context.Context){w.write, w.kill, w.fault, w.actors.act, w.configure} {
		all.Go(func() { act(ctx) })
	}
	all.Wait()
}
