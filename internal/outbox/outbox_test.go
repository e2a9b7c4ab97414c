package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// record has the jobs that were done, in their order.
type record struct {
	mu   sync.Mutex
	done []string
}

func (r *record) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, what)
}

func (r *record) check(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(want, r.done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// run runs a box in a bubble of synctest, and returns the function that stops it.
func run(t *testing.T, b *Box) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

func expect(t *testing.T, b *Box, want Stats) {
	t.Helper()
	if diff := cmp.Diff(want, b.Stats(), cmpopts.IgnoreFields(Stats{}, "Oldest")); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestQueuesKeepTheirOrderAndDoNotDelayEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := New(Options{}), &record{}
		var up atomic.Bool
		for i := range 3 {
			b.Put(Job{Recipient: "down", Do: func(context.Context) error {
				if !up.Load() {
					return errors.New("connection refused")
				}
				r.add(fmt.Sprint("down ", i))
				return nil
			}})
		}
		b.Put(Job{Recipient: "up", Do: func(context.Context) error { r.add("up"); return nil }})
		stop := run(t, b)
		r.check(t, "up")
		expect(t, b, Stats{Waiting: 3, Done: 1, Retried: 1})
		up.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.check(t, "up", "down 0", "down 1", "down 2")
		expect(t, b, Stats{Done: 4, Retried: 1})
		stop()
	})
}

func TestANewerJobReplacesTheOneWithItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := New(Options{MaxWaiting: 2}), &record{}
		put := func(key, text string, err error) {
			b.Put(Job{Recipient: "l", Key: key, Do: func(context.Context) error { r.add(text); return err }})
		}
		put("a", "a1", nil)
		put("b", "b1", errors.New("busy"))
		put("a", "a2", nil)
		stop := run(t, b)
		r.check(t, "a2", "b1")
		put("b", "b2", nil)
		put("b", "b3", nil)
		synctest.Wait()
		r.check(t, "a2", "b1") // the recipient is given its time
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.check(t, "a2", "b1", "b3")
		expect(t, b, Stats{Done: 2, Retried: 1})
		stop()
	})
}

func TestAFullQueueDropsAndCountsTheOldestJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b, r := New(Options{MaxWaiting: 2, Log: slog.New(slog.NewTextHandler(&log, nil))}), &record{}
		for i := range 5 {
			b.Put(Job{Recipient: "https://hooks.example.com/s3cret", What: "event", Pipeline: "prod",
				Do: func(context.Context) error {
					r.add(fmt.Sprint(i))
					return nil
				}})
		}
		expect(t, b, Stats{Waiting: 2, Dropped: 3})
		stop := run(t, b)
		r.check(t, "3", "4")
		stop()
		if n := strings.Count(log.String(), "dropped"); n != 3 || strings.Contains(log.String(), "s3cret") {
			t.Errorf("log: %s", &log)
		}
	})
}

func TestRetriesBackOffAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{})
		var events, states int
		b.Put(Job{Recipient: "events", Do: func(context.Context) error { events++; return errors.New("down") }})
		b.Put(Job{Recipient: "states", Key: "k", Do: func(context.Context) error {
			states++
			return errors.New("down")
		}})
		stop := run(t, b)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		// 1, 2, 4 ... 256 seconds and then 5 minutes, each up to half as much longer.
		if events < 14 || events > 22 {
			t.Errorf("an event is tried %d times in its hour", events)
		}
		if states <= events || states > 35 {
			t.Errorf("a state is tried %d times in two hours", states)
		}
		if s := b.Stats(); s.Failed != 1 || s.Waiting != 1 {
			t.Errorf("stats: %+v", s)
		}
		stop()
	})
}

// limited is an error that says when to try again.
type limited time.Duration

func (limited) Error() string               { return "too many requests" }
func (l limited) RetryAfter() time.Duration { return time.Duration(l) }

func TestErrorsSayWhenAndWhetherToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := New(Options{}), &record{}
		start := time.Now()
		first := true
		b.Put(Job{Recipient: "limited", Key: "k", Do: func(context.Context) error {
			if first {
				first = false
				return fmt.Errorf("set status: %w", limited(20*time.Minute))
			}
			r.add(time.Since(start).String())
			return nil
		}})
		b.Put(Job{Recipient: "refused", Key: "k", Do: func(context.Context) error {
			r.add("refused")
			return fmt.Errorf("x: %w", Permanent(errors.New("422")))
		}})
		stop := run(t, b)
		time.Sleep(time.Hour)
		r.check(t, "refused", "20m0s")
		expect(t, b, Stats{Done: 1, Retried: 1, Failed: 1})
		stop()
	})
}

func TestAPanicEndsAJobAndShowsNoValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b, r := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}), &record{}
		b.Put(Job{Recipient: "broken", Key: "k", What: "status", Pipeline: "x", Do: func(context.Context) error {
			panic("the password is hunter2")
		}})
		b.Put(Job{Recipient: "other", Key: "k", Do: func(context.Context) error { r.add("other"); return nil }})
		stop := run(t, b)
		time.Sleep(time.Hour)
		r.check(t, "other")
		expect(t, b, Stats{Done: 1, Failed: 1})
		stop()
		if text := log.String(); strings.Contains(text, "hunter2") ||
			!strings.Contains(text, "msg=panic during=status of=x value=string") {
			t.Error(text)
		}
	})
}

func TestATryHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := New(Options{Timeout: time.Second}), &record{}
		b.Put(Job{Recipient: "silent", Key: "k", Do: func(ctx context.Context) error {
			<-ctx.Done()
			r.add(ctx.Err().Error())
			return Permanent(ctx.Err())
		}})
		stop := run(t, b)
		time.Sleep(time.Second)
		synctest.Wait()
		r.check(t, "context deadline exceeded")
		stop()
	})
}

// TestAReplacedJobKeepsItsWaitingTime: a newer job waits from the time of the one that it replaces.
func TestAReplacedJobKeepsItsWaitingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{})
		age := func() time.Duration {
			if s := b.Stats(); !s.Oldest.IsZero() {
				return time.Since(s.Oldest)
			}
			return -1
		}
		if got := age(); got != -1 {
			t.Errorf("nothing waits for %s", got)
		}
		var up atomic.Bool
		put := func() {
			b.Put(Job{Recipient: "down", Key: "k", Do: func(context.Context) error {
				if !up.Load() {
					return errors.New("down")
				}
				return nil
			}})
		}
		put()
		time.Sleep(time.Minute)
		put() // before Run, in the queue
		stop := run(t, b)
		time.Sleep(time.Hour)
		put() // while the other one is tried
		synctest.Wait()
		if got := age(); got != time.Hour+time.Minute {
			t.Errorf("waits for %s", got)
		}
		time.Sleep(10 * time.Minute) // by now it is the one that is tried
		b.Put(Job{Recipient: "other", Do: func(context.Context) error { return nil }})
		synctest.Wait()
		if got := age(); got != time.Hour+11*time.Minute {
			t.Errorf("waits for %s", got)
		}
		up.Store(true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := age(); got != -1 {
			t.Errorf("nothing waits for %s", got)
		}
		stop()
	})
}

func TestNoMoreAtOnceThanWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Workers: 2})
		var mu sync.Mutex
		now, most := 0, 0
		for i := range 10 {
			b.Put(Job{Recipient: fmt.Sprint(i), Do: func(context.Context) error {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return nil
			}})
		}
		stop := run(t, b)
		time.Sleep(10 * time.Second)
		stop()
		if most != 2 {
			t.Errorf("%d at once", most)
		}
		expect(t, b, Stats{Done: 10})
	})
}

func TestWaitingJobsAreTriedOnceMoreAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := New(Options{Grace: time.Second, Workers: 8}), &record{}
		b.Put(Job{Recipient: "down", Do: func(context.Context) error { r.add("down"); return errors.New("down") }})
		stop := run(t, b)
		r.check(t, "down")
		b.Put(Job{Recipient: "down", Do: func(context.Context) error { r.add("last words"); return nil }})
		b.Put(Job{Recipient: "silent", Do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		start := time.Now()
		stop()
		if took := time.Since(start); took != time.Second {
			t.Errorf("the end took %s", took)
		}
		r.check(t, "down", "down", "last words")
		b.Put(Job{Recipient: "up", Do: func(context.Context) error { r.add("after the end"); return nil }})
		expect(t, b, Stats{Done: 1, Retried: 1, Failed: 2, Dropped: 1})
	})
}
