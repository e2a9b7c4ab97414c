package forge

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// TestComplaint38_RateLimitsHitLargeUsers: gitops-promoter#746, argo-cd#17506. What a site still
// allows is known, for a gauge; at its end nothing is sent until it allows more, by anybody who
// shares the credential.
func TestComplaint38_RateLimitsHitLargeUsers(t *testing.T) {
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
		f := newForge(t, &all, Config{Type: gitsync.ForgeGitHub, URL: server.URL, Repository: "org/r" + strconv.Itoa(i%2), Identity: "bot"})
		if err := f.SetStatus(t.Context(), testCommit, Status{Context: "a", State: Success}); err != nil {
			refused++
		}
		limits := all.RateLimits()
		if want := max(0, 2-i); len(limits) != 1 || limits[0].Remaining != want {
			t.Errorf("after %d requests: %+v", i+1, limits)
		}
	}
	if asked.Load() != 3 || refused != 7 {
		t.Errorf("%d requests were sent, %d refused", asked.Load(), refused)
	}
}

// TestABlockIsBySomethingThatNobodySets: the moment that a site names is one of the day, and the
// day's clock may be set back by a year while it is waited for.
func TestABlockIsBySomethingThatNobodySets(t *testing.T) {
	var m meter
	m.block(time.Unix(time.Now().Unix()+60, 0))
	if !strings.Contains(m.until.String(), " m=+") {
		t.Errorf("blocked until %s, by the wall clock", m.until)
	}
	if wait := time.Until(m.until); wait <= 0 || wait > time.Minute {
		t.Errorf("blocked for %s", wait)
	}
}
