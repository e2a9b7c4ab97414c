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
	// defaultWait is the wait after a refusal without a time, as GitHub recommends.
	defaultWait = time.Minute
	// maxWait is the longest wait: limits are per hour.
	maxWait = time.Hour
)

// meter tracks the rate limit of a credential at a site.
type meter struct {
	host string

	mu        sync.Mutex
	known     bool
	remaining int       // requests left
	reset     time.Time // when remaining is reset
	until     time.Time // nothing is sent before; zero if requests are allowed
}

// Remaining returns the requests that each API still allows, by host, as of the last response. For a host with several
// credentials it is the smallest number.
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

// read reads the rate limit headers of a response: X-RateLimit-* of GitHub and RateLimit-* of GitLab. If no requests
// are left, it blocks further ones.
func (m *meter) read(h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	remaining, err := strconv.Atoi(rateLimitHeader(h, "Remaining"))
	if err != nil {
		return
	}
	m.known = true
	m.remaining = remaining
	m.reset = time.Time{}
	if at, err := strconv.ParseInt(rateLimitHeader(h, "Reset"), 10, 64); err == nil {
		m.reset = localTime(h, time.Unix(at, 0))
	}
	if remaining <= 0 && !m.reset.IsZero() {
		m.block(m.reset)
	}
}

// exceeded blocks requests after a refusal and returns the error.
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

// block blocks requests until a time. mu must be held.
func (m *meter) block(until time.Time) {
	if until.After(m.until) {
		m.until = until
	}
}

// localTime converts a time in a response to local time, relative to the response's Date header, so that neither clock
// has to be right. The result is at most maxWait from now.
func localTime(h http.Header, at time.Time) time.Time {
	now := time.Now()
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		theirs = now
	}
	return now.Add(max(0, min(at.Sub(theirs), maxWait)))
}

// RetryAfter returns the time in the Retry-After header, which has seconds or a date.
func RetryAfter(h http.Header) (time.Time, bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Now().Add(time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return localTime(h, at), true
	}
	return time.Time{}, false
}

// rateLimitHeader returns a rate limit header in GitHub's or GitLab's spelling.
func rateLimitHeader(h http.Header, name string) string {
	return cmp.Or(h.Get("X-RateLimit-"+name), h.Get("RateLimit-"+name))
}
