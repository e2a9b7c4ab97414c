package transport

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// paced returns that many bytes at a time, each time after a pause.
type paced struct {
	bytes int
	every time.Duration
	left  int
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(p.every)
	n := min(len(b), p.bytes, p.left)
	p.left -= n
	return n, nil
}

func TestStallTimer(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Second
	for name, c := range map[string]struct {
		remote paced
		relax  bool
		own    time.Duration // of our own work after each read
		want   time.Duration // when it fires; 0: never
	}{
		"a byte a second":              {remote: paced{1, time.Second, 1e6}, want: limit},
		"silence":                      {remote: paced{1, time.Hour, 1e6}, want: limit},
		"just enough":                  {remote: paced{minProgressBytes, limit - time.Second, 100 * minProgressBytes}},
		"one byte less":                {remote: paced{minProgressBytes - 1, limit - time.Second, 1e6}, want: limit},
		"a byte a second after asking": {remote: paced{1, time.Second, 1e6}, relax: true, want: workFactor * limit},
		"a long think, then an answer": {remote: paced{1e6, workFactor*limit - time.Second, 2e6}, relax: true},
		"we are slow ourselves":        {remote: paced{100, time.Second, 2000}, own: time.Hour},
		"little, and then its end":     {remote: paced{1, time.Second, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				timer := newStallTimer(limit, cancel)
				if c.relax {
					timer.relax()
				}
				var fired time.Duration
				began := time.Now()
				context.AfterFunc(ctx, func() { fired = time.Since(began) })
				in := timer.reader(&c.remote)
				for b := make([]byte, 1e6); ctx.Err() == nil; time.Sleep(c.own) {
					if _, err := in.Read(b); err != nil {
						break
					}
				}
				synctest.Wait()
				if fired != c.want {
					t.Errorf("fires after %s, want %s", fired, c.want)
				}
			})
		})
	}
}

// TestStallTimerCountsWhatIsSent: bytes that are sent count as progress while a response is awaited, because a slow
// line needs its time.
func TestStallTimerCountsWhatIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		timer := newStallTimer(30*time.Second, cancel)
		timer.enter()
		body := timer.sent(bytes.NewReader(make([]byte, 10*maxWatchedWrite)))
		for b := make([]byte, maxWatchedWrite); ; time.Sleep(29 * time.Second) {
			if _, err := body.Read(b); err != nil {
				break
			}
		}
		if ctx.Err() != nil {
			t.Errorf("it fires: %v", context.Cause(ctx))
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it does not fire when all is sent and nothing comes")
		}
		timer.leave(0)
	})
}
