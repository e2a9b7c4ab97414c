package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Handler answers a question. [ErrTooLong] means that the answer exceeds the limit. The worker ends after any error.
type Handler func(kind byte, data []byte, from Caller) (answer []byte, err error)

// Caller is who asked a question. Before it answers, a worker can tell the caller something and ask back.
type Caller struct {
	out     io.Writer
	replies <-chan Question
}

// Say sends a message to [Question.OnMessage].
func (c Caller) Say(kind byte, data []byte) {
	_ = write(c.out, kind, data) // if this fails, the parent is gone and in ends too
}

// Ask sends a message to [Question.OnMessage] and returns its reply.
func (c Caller) Ask(kind byte, data []byte) (reply []byte, err error) {
	if err := write(c.out, kind, data); err != nil {
		return nil, err
	}
	return (<-c.replies).Data, nil // the caller asks nothing else before it has the answer
}

// Serve runs a worker: it reads questions from in and writes answers to out until in ends, then returns the exit code.
// The process must do nothing else, and must end when Serve returns, because a handler may still be running.
func Serve(in io.Reader, out io.Writer, limits Limits, handle Handler) int {
	limits = limits.WithDefaults()
	log.SetOutput(io.Discard) // libraries may log values
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(limits.MemoryBytes * 3 / 4)
	debug.SetMaxStack(int(limits.MemoryBytes / 4))
	limitMemory(limits.MemoryBytes)
	done := make(chan int, 1)
	questions, started := make(chan Question), make(chan time.Duration)
	go listen(in, questions, done)
	go work(questions, started, out, handle, done)
	watch := time.NewTicker(10 * time.Millisecond)
	defer watch.Stop()
	for limit, before := time.Duration(0), time.Duration(0); ; {
		select {
		case code := <-done:
			return code
		case limit = <-started:
			before = busy()
		case <-watch.C:
			if limit > 0 && busy()-before > limit {
				return exitBusy
			}
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

// work answers questions. It sends the limit of processor time of each to started.
func work(questions <-chan Question, started chan<- time.Duration, out io.Writer, handle Handler, done chan<- int) {
	for q := range questions {
		const head = 8 // the limit, before the data
		if len(q.Data) < head {
			done <- exitBroken
			return
		}
		started <- time.Duration(binary.BigEndian.Uint64(q.Data))
		answer, err := handle(q.Kind, q.Data[head:], Caller{out, questions})
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
