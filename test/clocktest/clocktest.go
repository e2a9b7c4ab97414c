// Package clocktest sets clocks in tests as an administrator or NTP does: the time of day jumps,
// and the monotonic clock, by which Go measures what passes, goes on as if nothing had happened.
// No function of package time makes such a moment.
package clocktest

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Clock is a clock whose time of day can be set. The zero value shows the right time.
type Clock struct{ off atomic.Int64 }

// Set makes the clock show a time of day that is wrong by so much, in whole seconds.
func (c *Clock) Set(off time.Duration) { c.off.Store(int64(off)) }

// Now is [time.Now] by this clock.
func (c *Clock) Now() time.Time { return Jumped(time.Now(), time.Duration(c.off.Load())) }

// started has a monotonic reading. The moments of package synctest have none.
var started = time.Now()

// monotonic is a moment with a monotonic reading, also if it is of a bubble of package synctest.
func monotonic(t time.Time) time.Time {
	if t == t.Round(0) {
		return started.Add(t.Sub(started))
	}
	return t
}

// nanosecondBits is where, in the first word of a time that has a monotonic reading, the seconds of
// the time of day begin.
const nanosecondBits = 30

// Jumped is a moment as it looks after the time of day was set forward by some whole seconds, or
// back: its monotonic reading stays; a moment without one gets one first. It panics where a time is
// not made as it was in Go 1.9 and ever since.
func Jumped(t time.Time, by time.Duration) time.Time {
	t = monotonic(t)
	out := t
	*(*uint64)(unsafe.Pointer(&out)) += uint64(by/time.Second) << nanosecondBits
	if out.Round(0).Sub(t.Round(0)) != by.Truncate(time.Second) || out.Sub(t) != 0 {
		panic("clocktest: package time has changed")
	}
	return out
}
