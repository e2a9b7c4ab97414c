package fleet

import "time"

const (
	// minBackoff and maxBackoff bound how long a remote or a pipeline that fails is left alone.
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	// downAfter is how many rounds in a row must fail until the pipelines of a remote are said
	// not to be ready: most outages are over within seconds, and nobody wants to hear of them.
	downAfter = 3
)

// backoff is how long to wait after so many failures in a row: anything up to a second, two,
// four and so on. As all of it is random, those that failed together do not come back
// together.
func backoff(failures int, random func() float64) time.Duration {
	limit := maxBackoff
	if shift := failures - 1; shift < 16 && minBackoff<<shift < maxBackoff {
		limit = minBackoff << shift
	}
	return time.Duration(random() * float64(limit))
}

// jittered is an interval that differs by up to a share from what was asked for, so that
// remotes which started together part ways.
func jittered(interval time.Duration, share float64, random func() float64) time.Duration {
	if share <= 0 {
		return interval
	}
	return time.Duration(float64(interval) * (1 + share*(2*random()-1)))
}

// wish is the pass that a pipeline wants to make; the zero value is none.
type wish struct {
	reason string
	// asked is when somebody asked for it: a round of each remote must have begun since. Zero
	// means that what was listed last will do.
	asked time.Time
	token string
}

func (w wish) isZero() bool { return w.reason == "" }

// awaited is what is left of a wish when the pipeline becomes another one: whoever waits for the
// pass waits for one of that.
func (w wish) awaited() wish {
	if w.token == "" {
		return wish{}
	}
	return w
}

// and joins two wishes for a pass into one for the same pass. What somebody asked for, or
// else what moved, gives it its reason.
func (w wish) and(other wish) wish {
	if w.isZero() || w.reason == ReasonRetry || w.asked.IsZero() && !other.asked.IsZero() {
		w.reason = other.reason
	}
	if other.asked.After(w.asked) {
		w.asked = other.asked
	}
	if other.token != "" {
		w.token = other.token
	}
	return w
}

// alarm calls a function once, later. It is set and stopped with the fleet's lock held, and
// its function is called without: it must look whether there still is something to do.
type alarm struct{ timer *time.Timer }

func (a *alarm) set(after time.Duration, ring func()) {
	a.stop()
	a.timer = time.AfterFunc(after, ring)
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
