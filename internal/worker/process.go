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

// process answers one question after the other.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	timer *time.Timer // while it has no work
	// reused says that it has answered before, heard that it said something about the present question, and spent that
	// it was told to end.
	reused, heard, spent bool

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

// do asks the question and reads the answer. After an error the process is of no more use.
func (o *process) do(ctx context.Context, q Question, limits Limits) ([]byte, error) {
	var late atomic.Bool
	deadline := time.AfterFunc(limits.Time, func() {
		late.Store(true)
		_ = o.cmd.Process.Kill()
	})
	stop := context.AfterFunc(ctx, func() { _ = o.cmd.Process.Kill() })
	answer, err := o.exchange(q, limits)
	inTime, wanted := deadline.Stop(), stop()
	if err == nil {
		o.spent = !inTime || !wanted
		return answer, nil
	}
	o.kill()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, o.broken(late.Load(), errors.Is(err, ErrTooLong), limits)
}

// exchange sends the question and reads frames up to the answer.
func (o *process) exchange(q Question, limits Limits) ([]byte, error) {
	sent := make(chan error, 1)
	go func() { sent <- write(o.in, q.Kind, q.Data) }() // ends with the process
	out := bufio.NewReader(o.out)
	for {
		const rest = 8 << 20 // for what stands beside the output
		kind, data, err := read(out, limits.OutputBytes+rest)
		if err != nil {
			return nil, err
		}
		o.heard = true
		switch {
		case kind == Answer:
			return data, <-sent
		case q.Heard == nil:
			err = errors.New("an unknown frame")
		default:
			err = q.Heard(kind, data)
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
	case tooLong || o.cmd.ProcessState.ExitCode() == exitOutput:
		return &Broken{Output, limits}
	}
	return &Broken{Memory, limits}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
