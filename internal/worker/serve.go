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

// Handler answers a question. say sends a message to [Question.OnMessage] before the answer. [ErrTooLong] means that
// the answer exceeds the limit. The worker ends after any error.
type Handler func(kind byte, data []byte, say func(kind byte, data []byte)) (answer []byte, err error)

// Serve runs a worker: it reads questions from in and writes answers to out until in ends, then returns the exit code.
// The process must do nothing else, and must end when Serve returns, because a handler may still be running.
func Serve(in io.Reader, out io.Writer, limits Limits, handle Handler) int {
	limits = limits.WithDefaults()
	log.SetOutput(io.Discard) // libraries may log values
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

// listen reads questions. The end of in means that the parent is gone, which ends the worker at once.
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
		_ = write(out, kind, data) // if this fails, the parent is gone and in ends too
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

// used returns the memory that the process has from the system.
func used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
