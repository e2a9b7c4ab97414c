// Package worker is the process in which package helm renders charts, by Helm's own library. It stands alone, because that
// library links all clients of the Kubernetes API.
package worker

import (
	"bufio"
	"errors"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
)

// Serve is a worker: it renders releases from in to out until in ends, and gives its exit code. It must be all that its
// process does, and the process must end when Serve returns: a template can still be running then.
func Serve(in io.Reader, out io.Writer, limits helm.Limits) int {
	limits = limits.WithDefaults()
	log.SetOutput(io.Discard) // Helm logs what it thinks of values
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(limits.MemoryBytes * 3 / 4)
	debug.SetMaxStack(int(limits.MemoryBytes / 4))
	limitMemory(limits.MemoryBytes)
	done := make(chan int, 1)
	requests := make(chan request)
	go read(in, requests, done)
	go work(requests, out, limits, done)
	watch := time.NewTicker(10 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case code := <-done:
			return code
		case <-watch.C:
			if used() > limits.MemoryBytes {
				return frame.ExitMemory
			}
		}
	}
}

// request is something to do: a release or texts.
type request struct {
	kind byte
	data []byte
}

// read takes requests. The end of in ends the worker, even while a template loops: then the parent is gone.
func read(in io.Reader, requests chan<- request, done chan<- int) {
	for r := bufio.NewReader(in); ; {
		kind, data, err := frame.Read(r, frame.MaxReleaseBytes)
		switch {
		case errors.Is(err, io.EOF):
			done <- frame.ExitDone
			return
		case err != nil:
			done <- frame.ExitBroken
			return
		}
		requests <- request{kind, data}
	}
}

func work(requests <-chan request, out io.Writer, limits helm.Limits, done chan<- int) {
	entered := func(template string) {
		_ = frame.Write(out, frame.Template, template) // if the parent is gone, in ends too
	}
	for r := range requests {
		a, err := r.answer(entered)
		if failed, ok := errors.AsType[*helm.Failure](err); ok {
			a, err = helm.Answer{Failure: failed}, nil
		}
		size := int64(0)
		for _, d := range a.Documents {
			size += int64(len(d.Text))
		}
		for _, t := range a.Texts {
			size += int64(len(t))
		}
		if size > limits.OutputBytes {
			done <- frame.ExitOutput
			return
		}
		if err != nil || frame.Write(out, frame.Answer, a) != nil {
			done <- frame.ExitBroken
			return
		}
	}
}

// answer does what is asked for. An error that is no Failure is one of the frame.
func (r request) answer(entered func(template string)) (a helm.Answer, err error) {
	switch r.kind {
	case frame.Release:
		var release helm.Release
		if err := frame.Decode(r.data, &release); err != nil {
			return a, err
		}
		if a.Documents, err = render(release, func(template string) { entered(helm.InChart(template)) }); err != nil {
			return a, asFailure(err)
		}
		return a, nil
	case frame.Texts:
		var texts helm.Texts
		if err := frame.Decode(r.data, &texts); err != nil {
			return a, err
		}
		a.Texts, err = execute(texts, entered)
		return a, err
	}
	return a, errors.New("an unknown frame")
}

// used is the memory that the process has from the system.
func used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
