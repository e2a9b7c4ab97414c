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
	releases := make(chan []byte)
	go read(in, releases, done)
	go work(releases, out, limits, done)
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

// read takes releases. The end of in ends the worker, even while a template loops: then the parent is gone.
func read(in io.Reader, releases chan<- []byte, done chan<- int) {
	for r := bufio.NewReader(in); ; {
		kind, data, err := frame.Read(r, frame.MaxReleaseBytes)
		switch {
		case errors.Is(err, io.EOF):
			done <- frame.ExitDone
			return
		case err != nil || kind != frame.Release:
			done <- frame.ExitBroken
			return
		}
		releases <- data
	}
}

func work(releases <-chan []byte, out io.Writer, limits helm.Limits, done chan<- int) {
	for data := range releases {
		var r helm.Release
		if err := frame.Decode(data, &r); err != nil {
			done <- frame.ExitBroken
			return
		}
		docs, err := render(r, func(template string) {
			_ = frame.Write(out, frame.Template, template) // if the parent is gone, in ends too
		})
		a := helm.Answer{Documents: docs}
		if err != nil {
			a = helm.Answer{Failure: asFailure(err)}
		}
		size := int64(0)
		for _, d := range docs {
			size += int64(len(d.Text))
		}
		if size > limits.OutputBytes {
			done <- frame.ExitOutput
			return
		}
		if err := frame.Write(out, frame.Answer, a); err != nil {
			done <- frame.ExitBroken
			return
		}
	}
}

// used is the memory that the process has from the system.
func used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
