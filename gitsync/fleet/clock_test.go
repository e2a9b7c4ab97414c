package fleet

import (
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/clocktest"
)

// TestTimesInTheStatusFollowTheClock: after the clock was set, what is due in a minute is shown so,
// and not in a year.
func TestTimesInTheStatusFollowTheClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	noted := time.Now()
	for _, off := range []time.Duration{0, time.Hour, -time.Hour, year, -year} {
		now := clocktest.Jumped(noted.Add(time.Second), off)
		for _, in := range []time.Duration{time.Minute, -time.Minute} {
			if got := timeOfDay(noted.Add(time.Second+in), now).Sub(now.Round(0)); got != in {
				t.Errorf("set by %s: what is %s from now is shown as %s from now", off, in, got)
			}
		}
	}
	if timeOfDay(time.Time{}, noted) != nil {
		t.Error("never is a time")
	}
}
