package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Options configure a [Pool].
type Options struct {
	// Program is the name of the program, which is looked for beside agentry, then in PATH.
	Program string
	// Command, if set, starts a worker instead: a program that calls [Serve].
	Command []string
	// Self, if set, makes the workers processes of this program itself, in which [Become] is called with this name.
	Self string
	// Env is the environment of workers.
	Env []string
	// Limits are those of a question. The program must know those of the output. Default: the defaults of [Limits].
	Limits Limits
	// Memory, if not nil, limits the memory of this and other pools together.
	Memory *SharedMemory
	// Processes limits the processes that run at the same time. Default: one per processor.
	Processes int
	// Idle is how long to keep an idle worker. Default: 30s.
	Idle time.Duration
}

// Pool sends questions to processes of a program. It is safe for concurrent use.
type Pool struct {
	opts  Options
	slots chan struct{}

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// NewPool returns a pool. It starts no process before the first question.
func NewPool(opts Options) *Pool {
	opts.Limits = opts.Limits.WithDefaults()
	opts.Limits.MemoryBytes = opts.Memory.limit(opts.Limits.MemoryBytes)
	if opts.Processes == 0 {
		opts.Processes = runtime.GOMAXPROCS(0)
	}
	if opts.Idle == 0 {
		opts.Idle = defaultTime
	}
	return &Pool{opts: opts, slots: make(chan struct{}, opts.Processes)}
}

// Question is a request to a worker.
type Question struct {
	Kind byte
	Data []byte
	// OnMessage is called with each message that the worker sends before its answer. If nil, messages are errors. A
	// reply that is not nil is sent to the worker, which must be waiting for it in [Caller.Ask].
	OnMessage func(kind byte, data []byte) (reply []byte, err error)
	// CPU limits the processor time of the question if it is shorter than [Limits.CPU].
	CPU time.Duration
}

// Ask sends a question to a worker and returns the answer. An error is a [*Broken], a [*Missing], ctx's cause, or says
// that no process can be started.
func (p *Pool) Ask(ctx context.Context, q Question) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release, err := p.opts.Memory.take(ctx, p.opts.Limits.MemoryBytes)
	if err != nil {
		return nil, err
	}
	defer release()
	for isAgain := false; ; {
		one, err := p.take()
		if err != nil {
			return nil, err
		}
		limits := p.opts.Limits
		if q.CPU > 0 && (limits.CPU == 0 || q.CPU < limits.CPU) {
			limits.CPU = q.CPU
		}
		answer, err := one.ask(ctx, q, limits)
		if err != nil && one.reused && !one.responded && ctx.Err() == nil {
			continue // it may have ended while it was idle
		}
		if broken, ok := errors.AsType[*Broken](err); ok && broken.Reason == Killed && !isAgain {
			debug.FreeOSMemory() // for the worker, which the kernel kills first
			isAgain = true
			continue
		}
		if err != nil {
			return nil, err
		}
		p.put(one)
		return answer, nil
	}
}

// Close ends idle workers now, and busy ones when their work is done.
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

// take returns an idle worker, or starts one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		defer p.mu.Unlock()
		one := p.idle[n-1]
		p.idle = p.idle[:n-1]
		one.timer.Stop()
		one.responded = false
		return one, nil
	}
	p.mu.Unlock()
	return start(p.opts)
}

// put returns a worker to the pool, which keeps it for a while.
func (p *Pool) put(one *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.reused = true
	if p.closed || one.killed {
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

// find finds the program beside this one, else in PATH.
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
	command, env := opts.Command, append([]string{"TZ=UTC", "GOTRACEBACK=none"}, opts.Env...)
	if opts.Self != "" {
		name, err := self()
		if err != nil {
			return nil, err
		}
		command, env = []string{name}, append(env, variable+"="+opts.Self)
	}
	if len(command) == 0 {
		name, err := find(opts.Program)
		if err != nil {
			return nil, err
		}
		command = []string{name}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	cmd.Dir = "/" // an image may have no other folder
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
