package alive

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/grafana/loki/pkg/logproto"
)

// loki takes lines, and forgets none.
type loki struct {
	*httptest.Server

	mu    sync.Mutex
	lines map[string]int // how often each came, with its tenant, labels and time
}

func startLoki(t *testing.T) *loki {
	t.Helper()
	l := &loki{lines: map[string]int{}}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *loki) address() string { return strings.TrimPrefix(l.URL, "http://") }

func (l *loki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	var push logproto.PushRequest
	if err == nil {
		err = push.Unmarshal(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range push.Streams {
		for _, e := range s.Entries {
			l.lines[fmt.Sprintf("tenant %q, %s, %s, %v: %q", r.Header.Get("X-Scope-OrgID"), s.Labels, when(e.Timestamp),
				e.StructuredMetadata, e.Line)]++
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// when is the time of a line, unless it is the one at which the line was read.
func when(at time.Time) string {
	if time.Since(at) < 24*time.Hour {
		return "now"
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// got returns what came so far.
func (l *loki) got() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.lines)
}

// count returns how many lines came so far.
func (l *loki) count() (n int) {
	for _, times := range l.got() {
		n += times
	}
	return n
}

// settled waits until nothing has come for some time, and so many lines at least.
func (l *loki) settled(t *testing.T, least int) {
	t.Helper()
	const quiet = 6 * time.Second // longer than stages wait for lines
	last, since := -1, time.Now()
	eventually(t, fmt.Sprintf("at least %d lines", least), func() error {
		if n := l.count(); n != last {
			last, since = n, time.Now()
		}
		if last < least || time.Since(since) < quiet {
			return fmt.Errorf("%d lines so far: %q", last, slices.Sorted(maps.Keys(l.got())))
		}
		return nil
	})
}
