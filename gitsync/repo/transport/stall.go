package transport

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// minProgressBytes is the number of bytes that a remote must send or accept within each stall timeout.
	minProgressBytes = 1 << 10
	// workFactor multiplies the stall timeout after a request, when the remote counts objects or runs hooks.
	workFactor = 4
	// maxSessionTime limits a session with a very slow remote if the caller's context has no deadline.
	maxSessionTime = time.Hour
)

// stallTimer ends a session whose remote stalls. It counts only the time spent waiting for the remote, not the time
// of local work.
type stallTimer struct {
	cancel func(error) // ends the session

	mu      sync.Mutex
	limit   time.Duration // for minProgressBytes
	waiters int
	began   time.Time     // of the current wait
	waited  time.Duration // in earlier waits
	moved   int64         // bytes during the time waited
	timer   *time.Timer   // nil if nobody waits
}

func newStallTimer(limit time.Duration, cancel context.CancelCauseFunc) *stallTimer {
	return &stallTimer{cancel: cancel, limit: limit}
}

// relax gives the remote time to work on a request.
func (w *stallTimer) relax() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit *= workFactor
	w.restart()
}

// enter begins a wait for the remote. leave ends it after n bytes were transferred.
func (w *stallTimer) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiters++; w.waiters == 1 {
		w.began = time.Now()
		w.arm()
	}
}

func (w *stallTimer) leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiters--; w.waiters == 0 {
		w.waited += time.Since(w.began)
		w.timer.Stop()
		w.timer = nil
	}
	w.add(n)
}

// progress counts bytes that were transferred during another wait.
func (w *stallTimer) progress(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(n)
}

func (w *stallTimer) add(n int) {
	if w.moved += int64(n); w.moved >= minProgressBytes {
		w.restart()
	}
}

// restart resets the time and the bytes.
func (w *stallTimer) restart() {
	w.moved, w.waited = 0, 0
	if w.timer != nil {
		w.timer.Stop()
		w.began = time.Now()
		w.arm()
	}
}

// arm sets the timer to the remaining time. If the timer fires just after it was stopped, that is correct: the time was
// up.
func (w *stallTimer) arm() {
	limit := w.limit
	w.timer = time.AfterFunc(limit-w.waited, func() {
		w.cancel(fmt.Errorf("it moved fewer than %d bytes in %s", minProgressBytes, limit))
	})
}

// reader counts the bytes read from a remote.
func (w *stallTimer) reader(in io.Reader) io.Reader { return &watchedReader{in, w} }

type watchedReader struct {
	in    io.Reader
	timer *stallTimer
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.timer.enter()
	n, err := r.in.Read(p)
	r.timer.leave(n)
	return n, err
}

// writer counts the bytes written to a remote.
func (w *stallTimer) writer(out io.WriteCloser) io.WriteCloser { return &watchedWriter{out, w} }

type watchedWriter struct {
	io.WriteCloser
	timer *stallTimer
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > written {
		part := p[written:min(len(p), written+maxWatchedWrite)]
		w.timer.enter()
		n, err := w.WriteCloser.Write(part)
		w.timer.leave(n)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// maxWatchedWrite limits the bytes of one write, so that a slow remote does not look like a silent one.
const maxWatchedWrite = 32 << 10

// sent counts the bytes of a request's body that net/http reads to send them.
func (w *stallTimer) sent(in io.Reader) io.Reader { return &sentReader{in, w} }

type sentReader struct {
	in    io.Reader
	timer *stallTimer
}

func (r *sentReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p[:min(len(p), maxWatchedWrite)])
	r.timer.progress(n)
	return n, err
}
