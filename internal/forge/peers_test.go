package forge

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestNothingIsSentAfterTheRateLimit: gitops-promoter#746, argo-cd#17506. A gauge shows how many requests a site still
// allows. When none are left, nobody who shares the credential sends a request before the site allows more.
func TestNothingIsSentAfterTheRateLimit(t *testing.T) {
	left := 3
	server, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		left--
		w.Header().Set("X-RateLimit-Limit", "3")
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		_, _ = w.Write([]byte("{}"))
	})
	var all Sites
	var refused int
	for i := range 10 {
		f := newForge(t, &all, Config{Type: pipeline.ForgeGitHub, URL: server.URL,
			Repository: "org/r" + strconv.Itoa(i%2), Identity: "bot"})
		if err := f.SetStatus(t.Context(), testCommit, Status{Context: "a", State: Success}); err != nil {
			refused++
		}
		left := slices.Collect(maps.Values(all.Remaining()))
		if want := max(0, 2-i); !slices.Equal(left, []int{want}) {
			t.Errorf("after %d requests: %+v", i+1, left)
		}
	}
	if asked.Load() != 3 || refused != 7 {
		t.Errorf("%d requests were sent, %d refused", asked.Load(), refused)
	}
}

// TestRateLimitsDoNotDependOnTheLocalClock: a site names a time of day. The local clock may be wrong by a year, and may
// be set during the wait.
func TestRateLimitsDoNotDependOnTheLocalClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, off := range []time.Duration{0, time.Hour, -time.Hour, year, -year} {
		theirs := time.Now().Add(off).UTC()
		at := func(d time.Duration) time.Time { return theirs.Add(d) }
		unix := func(d time.Duration) string { return strconv.FormatInt(at(d).Unix(), 10) }
		for name, test := range map[string]struct {
			header http.Header
			want   time.Duration
		}{
			"the end of a limit": {http.Header{"X-Ratelimit-Remaining": {"0"},
				"X-Ratelimit-Reset": {unix(time.Minute)}}, time.Minute},
			"one that never comes": {http.Header{"X-Ratelimit-Remaining": {"0"},
				"X-Ratelimit-Reset": {unix(year)}}, maxWait},
			"a date after which to ask again": {
				http.Header{"Retry-After": {at(time.Minute).Format(http.TimeFormat)}}, time.Minute},
			"one that never comes, and no limit": {http.Header{"Retry-After": {at(year).Format(http.TimeFormat)}},
				maxWait},
			"one that was a year ago":             {http.Header{"Retry-After": {at(-year).Format(http.TimeFormat)}}, 0},
			"seconds, which are all that matters": {http.Header{"Retry-After": {"60"}}, time.Minute},
		} {
			test.header.Set("Date", theirs.Format(http.TimeFormat))
			var m meter
			m.read(test.header)
			err, ok := errors.AsType[*RateLimitError](m.exceeded(test.header))
			if !ok || !strings.Contains(err.Until.String(), " m=+") {
				t.Errorf("off by %s, %s: waits for a time of day: %v", off, name, err)
				continue
			}
			if wait := err.RetryAfter(); wait > test.want || wait < test.want-5*time.Second {
				t.Errorf("off by %s, %s: waits for %s, want %s", off, name, wait, test.want)
			}
		}
	}
}
