package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// process is a process of the program, which answers one question after another.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	timer *time.Timer // ends it while it is idle
	// reused says that it has answered before, responded that it has sent something for the current question, and
	// killed that it was told to end.
	reused, responded, killed bool

	once  sync.Once
	ended chan struct{}
}

// kill ends the process and waits for it.
func (o *process) kill() {
	o.once.Do(func() {
		_ = o.cmd.Process.Kill() // or it has ended
		_ = o.in.Close()
		_ = o.cmd.Wait()
		close(o.ended)
	})
}

// ask sends the question and returns the answer. After an error the process has ended.
func (o *process) ask(ctx context.Context, q Question, limits Limits) ([]byte, error) {
	var late atomic.Bool
	deadline := time.AfterFunc(limits.Time, func() {
		late.Store(true)
		_ = o.cmd.Process.Kill()
	})
	stop := context.AfterFunc(ctx, func() { _ = o.cmd.Process.Kill() })
	answer, err := o.exchange(q, limits)
	inTime, wanted := deadline.Stop(), stop()
	if err == nil {
		o.killed = !inTime || !wanted
		return answer, nil
	}
	o.kill()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, o.broken(late.Load(), errors.Is(err, ErrTooLong), limits)
}

// exchange sends the question and reads frames up to the answer.
func (o *process) exchange(q Question, limits Limits) ([]byte, error) {
	sent := make(chan error, 1)
	go func() { // ends with the process
		sent <- write(o.in, q.Kind, append(limits.head(), q.Data...))
	}()
	out := bufio.NewReader(o.out)
	for {
		const rest = 8 << 20 // for the encoding around the output
		kind, data, err := read(out, limits.OutputBytes+rest)
		if err != nil {
			return nil, err
		}
		o.responded = true
		switch {
		case kind == Answer:
			return data, <-sent
		case q.OnMessage == nil:
			return nil, errors.New("an unknown frame")
		}
		answer, err := q.OnMessage(kind, data)
		if err == nil && answer != nil {
			err = write(o.in, reply, answer) // the worker has read the question
		}
		if err != nil {
			return nil, err
		}
	}
}

// broken says which limit ended the process.
func (o *process) broken(late, tooLong bool, limits Limits) *Broken {
	switch {
	case late:
		return &Broken{Late, limits}
	case o.cmd.ProcessState.ExitCode() == killed && o.spent() >= inheritedCPU()/2:
		limits.CPU = inheritedCPU()
		return &Broken{Inherited, limits}
	case o.cmd.ProcessState.ExitCode() == killed:
		return &Broken{Killed, limits}
	case o.cmd.ProcessState.ExitCode() == exitBusy:
		return &Broken{Busy, limits}
	case tooLong || o.cmd.ProcessState.ExitCode() == exitOutput:
		return &Broken{Output, limits}
	}
	return &Broken{Memory, limits}
}

// spent returns the processor time of the process, which has ended. The kernel ends it by another, coarser clock.
func (o *process) spent() time.Duration {
	return o.cmd.ProcessState.UserTime() + o.cmd.ProcessState.SystemTime()
}

// killed is the exit code of a process that a signal ended.
const killed = -1

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
