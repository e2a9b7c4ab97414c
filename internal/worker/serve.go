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
)

// Handler answers a question. What it says before goes to [Question.Heard]. [ErrTooLong] means that the answer is
// larger than the limit; after any other error the worker ends, too.
type Handler func(kind byte, data []byte, say func(kind byte, data []byte)) (answer []byte, err error)

// Serve is a worker: it answers questions from in to out until in ends, and gives its exit code. It must be all that
// its process does, and the process must end when Serve returns: a question can still be at work then.
func Serve(in io.Reader, out io.Writer, limits Limits, handle Handler) int {
	limits = limits.WithDefaults()
	log.SetOutput(io.Discard) // libraries log what they think of values
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(limits.MemoryBytes * 3 / 4)
	debug.SetMaxStack(int(limits.MemoryBytes / 4))
	limitMemory(limits.MemoryBytes)
	done := make(chan int, 1)
	questions := make(chan Question)
	go listen(in, questions, done)
	go work(questions, out, handle, done)
	watch := time.NewTicker(10 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case code := <-done:
			return code
		case <-watch.C:
			if used() > limits.MemoryBytes {
				return exitMemory
			}
		}
	}
}

// listen takes questions. The end of in ends the worker, even while one is at work: then the parent is gone.
func listen(in io.Reader, questions chan<- Question, done chan<- int) {
	for r := bufio.NewReader(in); ; {
		kind, data, err := read(r, MaxQuestionBytes)
		switch {
		case errors.Is(err, io.EOF):
			done <- exitDone
			return
		case err != nil:
			done <- exitBroken
			return
		}
		questions <- Question{Kind: kind, Data: data}
	}
}

func work(questions <-chan Question, out io.Writer, handle Handler, done chan<- int) {
	say := func(kind byte, data []byte) {
		_ = write(out, kind, data) // if the parent is gone, in ends too
	}
	for q := range questions {
		answer, err := handle(q.Kind, q.Data, say)
		if errors.Is(err, ErrTooLong) {
			done <- exitOutput
			return
		}
		if err != nil || write(out, Answer, answer) != nil {
			done <- exitBroken
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
