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

// Serve runs a worker: it reads questions from in and writes answers to out until in ends. It returns the exit code.
// Who asks sends the limits of time and memory along. The process must do nothing else, and must end when Serve
// returns, because a handler may still be running.
func Serve(in io.Reader, out io.Writer, handle Handler) int {
	log.SetOutput(io.Discard) // libraries may log values
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(gcPercent)
	done := make(chan int, 1)
	questions, started := make(chan Question), make(chan Limits)
	go listen(in, questions, done)
	go work(questions, started, out, handle, done)
	watch := time.NewTicker(10 * time.Millisecond)
	defer watch.Stop()
	var limits Limits
	for before := time.Duration(0); ; {
		select {
		case code := <-done:
			return code
		case now := <-started:
			if now.MemoryBytes != limits.MemoryBytes {
				debug.SetMemoryLimit(now.MemoryBytes * 3 / 4)
				debug.SetMaxStack(int(now.MemoryBytes / 4))
				limitMemory(now.MemoryBytes)
			}
			limits, before = now, busy()
		case <-watch.C:
			if limits.CPU > 0 && busy()-before > limits.CPU {
				return exitBusy
			}
			if limits.MemoryBytes > 0 && used() > limits.MemoryBytes {
				return exitMemory
			}
		}
	}
}

// gcPercent makes the collector run seldom: a worker has a limit of memory, and lives for one build after the other.
const gcPercent = 400

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

// work answers questions. It sends the limits of each to started.
func work(questions <-chan Question, started chan<- Limits, out io.Writer, handle Handler, done chan<- int) {
	for q := range questions {
		limits, ok := parseHead(q.Data)
		if !ok {
			done <- exitBroken
			return
		}
		started <- limits
		answer, err := handle(q.Kind, q.Data[headBytes:], Caller{out, questions})
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
