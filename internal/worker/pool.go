package worker

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
)

// Options are the settings of a [Pool].
type Options struct {
	// Program is the name of the program, which lies beside agentry or where PATH says.
	Program string
	// Command starts a worker instead: a program that calls [Serve].
	Command []string
	// Env is the environment of workers, which otherwise is empty.
	Env []string
	// Limits are those that the program has. Default: those of [Limits].
	Limits Limits
	// Memory is shared with other pools, so that not all workers together use too much. Nil: they may.
	Memory *SharedMemory
	// Processes is how many run at once. Default: one for each processor.
	Processes int
	// Idle is how long a worker without work is kept. Default: 30s.
	Idle time.Duration
}

// Pool asks processes of a program. It is safe for concurrent use.
type Pool struct {
	opts  Options
	slots chan struct{}

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// NewPool returns a pool; no process runs before the first question.
func NewPool(opts Options) *Pool {
	opts.Limits = opts.Limits.WithDefaults()
	if opts.Processes == 0 {
		opts.Processes = runtime.GOMAXPROCS(0)
	}
	if opts.Idle == 0 {
		opts.Idle = defaultTime
	}
	return &Pool{opts: opts, slots: make(chan struct{}, opts.Processes)}
}

// Question is what a worker is asked.
type Question struct {
	Kind byte
	Data []byte
	// Heard takes what the worker says before its answer. Nil: it may say nothing.
	Heard func(kind byte, data []byte) error
}

// Ask lets a worker answer. An error is a [*Broken], a [*Missing], ctx's, or says that a process cannot be started.
func (p *Pool) Ask(ctx context.Context, q Question) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give, err := p.opts.Memory.take(ctx, p.opts.Limits.MemoryBytes)
	if err != nil {
		return nil, err
	}
	defer give()
	for {
		one, err := p.take()
		if err != nil {
			return nil, err
		}
		answer, err := one.do(ctx, q, p.opts.Limits)
		if err != nil && one.reused && !one.heard && ctx.Err() == nil {
			continue // it may have ended while it had no work
		}
		if err != nil {
			return nil, err
		}
		p.put(one)
		return answer, nil
	}
}

// Close ends the workers without work. Those with work end after it.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, one := range p.idle {
		one.timer.Stop()
		one.kill()
	}
	p.idle = nil
}

// take returns a worker without work, or starts one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		defer p.mu.Unlock()
		one := p.idle[n-1]
		p.idle = p.idle[:n-1]
		one.timer.Stop()
		one.heard = false
		return one, nil
	}
	p.mu.Unlock()
	return start(p.opts)
}

// put keeps a worker for a while.
func (p *Pool) put(one *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.reused = true
	if p.closed || one.spent {
		one.kill()
		return
	}
	p.idle = append(p.idle, one)
	one.timer = time.AfterFunc(p.opts.Idle, func() { p.expire(one) })
}

func (p *Pool) expire(one *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == one {
			p.idle = append(p.idle[:i:i], p.idle[i+1:]...)
			one.kill()
			return
		}
	}
}

// find finds the program: beside this one, else where PATH says.
func find(program string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), program)
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return beside, nil
		}
	}
	name, err := exec.LookPath(program)
	if err != nil {
		return "", &Missing{Program: program}
	}
	return name, nil
}

func start(opts Options) (*process, error) {
	command := opts.Command
	if len(command) == 0 {
		name, err := find(opts.Program)
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
		return nil, errors.Join(fmt.Errorf("start a process of %s: %w", filepath.Base(command[0]), err), in.Close())
	}
	return &process{cmd: cmd, in: in, out: out, ended: make(chan struct{})}, nil
}
