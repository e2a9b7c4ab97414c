package clocktest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const year = 365 * 24 * time.Hour

func TestAClockThatIsSet(t *testing.T) {
	check := func(t *testing.T) {
		var c Clock
		for _, off := range []time.Duration{0, time.Hour, -time.Hour, year, -year} {
			begun, real := c.Now(), time.Now().Round(0)
			c.Set(off)
			now := c.Now()
			if shown := now.Round(0).Sub(real); shown < off || shown > off+time.Minute {
				t.Errorf("set by %s it shows a time that is off by %s", off, shown)
			}
			if !strings.Contains(now.String(), " m=") {
				t.Errorf("%s has no monotonic reading", now)
			}
			if passed := now.Sub(begun); passed < 0 || passed > time.Minute {
				t.Errorf("set by %s it lets %s pass", off, passed)
			}
		}
	}
	t.Run("as it is", check)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, check) })
}
