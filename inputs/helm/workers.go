package helm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
)

// Options are the settings of [Workers].
type Options struct {
	// Command starts a worker: a program that calls Serve of package worker with Limits. Default: [Program].
	Command []string
	// Env is the environment of workers, which otherwise is empty.
	Env []string
	// Limits are those that the program has. Default: those of [Limits].
	Limits Limits
	// Processes is how many run at once. Default: one for each processor.
	Processes int
	// Idle is how long a worker without work is kept. Default: 30s.
	Idle time.Duration
}

// Workers render releases in processes of their own. It is safe for concurrent use.
type Workers struct {
	opts  Options
	slots chan struct{}

	mu     sync.Mutex
	idle   []*worker
	closed bool
}

// NewWorkers returns workers; no process runs before the first release.
func NewWorkers(opts Options) *Workers {
	opts.Limits = opts.Limits.WithDefaults()
	if opts.Processes == 0 {
		opts.Processes = runtime.GOMAXPROCS(0)
	}
	if opts.Idle == 0 {
		opts.Idle = defaultTime
	}
	return &Workers{opts: opts, slots: make(chan struct{}, opts.Processes)}
}

// Render renders a release. What is wrong with the chart is a [*Failure], and so is a limit that it breaks; other errors
// are ours or ctx's.
func (w *Workers) Render(ctx context.Context, r Release) ([]Document, error) {
	if size(r) > frame.MaxReleaseBytes {
		return nil, &Failure{Reason: fmt.Sprintf("the chart is larger than %d MiB", frame.MaxReleaseBytes>>20)}
	}
	a, err := w.ask(ctx, frame.Release, r)
	if err != nil {
		return nil, err
	}
	return a.Documents, nil
}

// ask lets a worker do something.
func (w *Workers) ask(ctx context.Context, kind byte, of any) (*Answer, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		one, err := w.take()
		if err != nil {
			return nil, err
		}
		a, err := one.do(ctx, kind, of, w.opts.Limits)
		if err != nil && one.reused && !one.heard && ctx.Err() == nil {
			continue // it may have ended while it had no work
		}
		if err != nil {
			return nil, err
		}
		w.put(one)
		if a.Failure != nil {
			return nil, a.Failure
		}
		return a, nil
	}
}

func size(r Release) int64 {
	bytes := int64(0)
	for _, f := range r.Chart {
		bytes += int64(len(f.Data) + len(f.Name))
	}
	return bytes
}

// Close ends the workers that have no work; those that have end with it.
func (w *Workers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, one := range w.idle {
		one.timer.Stop()
		one.kill()
	}
	w.idle = nil
}

// take returns a worker without work, or starts one.
func (w *Workers) take() (*worker, error) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		defer w.mu.Unlock()
		one := w.idle[n-1]
		w.idle = w.idle[:n-1]
		one.timer.Stop()
		one.heard = false
		return one, nil
	}
	w.mu.Unlock()
	return start(w.opts)
}

// put keeps a worker for a while.
func (w *Workers) put(one *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.reused = true
	if w.closed || one.spent {
		one.kill()
		return
	}
	w.idle = append(w.idle, one)
	one.timer = time.AfterFunc(w.opts.Idle, func() { w.expire(one) })
}

func (w *Workers) expire(one *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.idle {
		if other == one {
			w.idle = append(w.idle[:i:i], w.idle[i+1:]...)
			one.kill()
			return
		}
	}
}

// Program is the name of the program that renders charts: it calls Serve of package worker, and lies beside agentry.
const Program = "agentry-charts"

// program finds it: beside this program, else where PATH says.
func program() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Program)
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return beside, nil
		}
	}
	name, err := exec.LookPath(Program)
	if err != nil {
		return "", &Failure{Reason: "charts are rendered by the program " + Program + ", which is not there: install it beside agentry"}
	}
	return name, nil
}

func start(opts Options) (*worker, error) {
	command := opts.Command
	if len(command) == 0 {
		name, err := program()
		if err != nil {
			return nil, err
		}
		command = []string{name}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append([]string{"TZ=UTC", "GOTRACEBACK=none"}, opts.Env...)
	cmd.Dir = os.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a process that renders charts: %w", err), in.Close())
	}
	one := &worker{cmd: cmd, in: in, out: out, ended: make(chan struct{})}
	return one, nil
}
