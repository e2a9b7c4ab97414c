package helm

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

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
)

// worker is a process that renders one release after the other.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	timer *time.Timer // while it has no work
	// reused says that it has rendered before, heard that it said something about the present release, and spent that it
	// was told to end.
	reused, heard, spent bool

	once  sync.Once
	ended chan struct{}
}

// kill ends the process and waits for it.
func (o *worker) kill() {
	o.once.Do(func() {
		_ = o.cmd.Process.Kill() // or it has ended
		_ = o.in.Close()
		_ = o.cmd.Wait()
		close(o.ended)
	})
}

// do sends a release or texts and reads the answer. After an error the worker is of no more use.
func (o *worker) do(ctx context.Context, kind byte, of any, limits Limits) (*Answer, error) {
	var late atomic.Bool
	deadline := time.AfterFunc(limits.Time, func() {
		late.Store(true)
		_ = o.cmd.Process.Kill()
	})
	stop := context.AfterFunc(ctx, func() { _ = o.cmd.Process.Kill() })
	template := ""
	a, err := o.exchange(kind, of, limits, &template)
	inTime, wanted := deadline.Stop(), stop()
	if err == nil {
		o.spent = !inTime || !wanted
		return a, nil
	}
	o.kill()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &Failure{Template: template, Reason: o.cause(late.Load(), errors.Is(err, frame.ErrTooLong), limits)}
}

// exchange sends what is to be done and reads frames up to the answer. template is the one that began last.
func (o *worker) exchange(kind byte, of any, limits Limits, template *string) (*Answer, error) {
	sent := make(chan error, 1)
	go func() { sent <- frame.Write(o.in, kind, of) }() // ends with the process
	out := bufio.NewReader(o.out)
	for {
		const rest = 8 << 20 // for what stands beside the documents
		kind, data, err := frame.Read(out, limits.OutputBytes+rest)
		if err != nil {
			return nil, err
		}
		o.heard = true
		switch kind {
		case frame.Template:
			err = frame.Decode(data, template)
		case frame.Answer:
			var a Answer
			if err := errors.Join(frame.Decode(data, &a), <-sent); err != nil {
				return nil, err
			}
			return &a, nil
		default:
			err = errors.New("an unknown frame")
		}
		if err != nil {
			return nil, err
		}
	}
}

// cause says which limit ended the process.
func (o *worker) cause(late, tooLong bool, limits Limits) string {
	const change = "; change the template or its values"
	code := o.cmd.ProcessState.ExitCode()
	switch {
	case late:
		return fmt.Sprintf("rendering takes longer than %s: a template loops or does too much", limits.Time) + change
	case tooLong || code == frame.ExitOutput:
		return fmt.Sprintf("it renders to more than %d MiB", limits.OutputBytes>>20) + change
	default:
		return fmt.Sprintf("rendering needs more than %d MiB of memory: a template allocates or recurses too much", limits.MemoryBytes>>20) + change
	}
}
