package forge

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limits of the time to wait.
const (
	// defaultWait is for a refusal without a time, as GitHub recommends.
	defaultWait = time.Minute
	// maxWait is the longest time to wait: limits are by the hour.
	maxWait = time.Hour
)

// meter follows the rate limit of one credential at one site.
type meter struct {
	host string

	mu        sync.Mutex
	known     bool
	remaining int       // how many requests are left
	reset     time.Time // when there are more again
	until     time.Time // nothing is sent before it; zero if requests are allowed
}

// Remaining returns how many requests the API of each site still allows, by its host, as of the last answer. For a host
// with several credentials it is the one with the fewest requests left.
func (s *Sites) Remaining() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := map[string]int{}
	for _, m := range s.meters {
		m.mu.Lock()
		if old, ok := least[m.host]; (m.known || !m.until.IsZero()) && (!ok || m.remaining < old) {
			least[m.host] = m.remaining
		}
		m.mu.Unlock()
	}
	return least
}

// allows returns an error if no request may be sent now.
func (m *meter) allows() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.until) {
		return &RateLimitError{Host: m.host, Until: m.until}
	}
	m.until = time.Time{}
	return nil
}

// read reads the headers of an answer about the limit: X-RateLimit-* of GitHub and RateLimit-* of GitLab. If no
// requests are left, the next one is not sent.
func (m *meter) read(h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	remaining, err := strconv.Atoi(either(h, "Remaining"))
	if err != nil {
		return
	}
	m.known = true
	m.remaining = remaining
	m.reset = time.Time{}
	if at, err := strconv.ParseInt(either(h, "Reset"), 10, 64); err == nil {
		m.reset = moment(h, time.Unix(at, 0))
	}
	if remaining <= 0 && !m.reset.IsZero() {
		m.block(m.reset)
	}
}

// exceeded blocks requests after a refusal, and returns the error.
func (m *meter) exceeded(h http.Header) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	until, ok := RetryAfter(h)
	if !ok && m.known && m.remaining <= 0 && time.Now().Before(m.reset) {
		until, ok = m.reset, true
	}
	if !ok {
		until = time.Now().Add(defaultWait)
	}
	m.block(until)
	return &RateLimitError{Host: m.host, Until: m.until}
}

// block must be called with mu held.
func (m *meter) block(until time.Time) {
	if until.After(m.until) {
		m.until = until
	}
}

// moment converts a time in an answer to local time: the answer's Date header tells how far it is from now, so that
// neither clock has to be right. The result is at most maxWait from now.
func moment(h http.Header, at time.Time) time.Time {
	now := time.Now()
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		theirs = now
	}
	return now.Add(max(0, min(at.Sub(theirs), maxWait)))
}

// RetryAfter returns the time of the header Retry-After, which has seconds or a date.
func RetryAfter(h http.Header) (time.Time, bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Now().Add(time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return moment(h, at), true
	}
	return time.Time{}, false
}

// either returns a header of a rate limit in GitHub's or GitLab's spelling.
func either(h http.Header, name string) string {
	return cmp.Or(h.Get("X-RateLimit-"+name), h.Get("RateLimit-"+name))
}
