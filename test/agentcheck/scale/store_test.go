package scale

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// store takes what agents send, and remembers which targets are up.
type store struct {
	*httptest.Server
	mu sync.Mutex
	up map[string]bool // by pod
}

func newStore(b *testing.B) *store {
	b.Helper()
	s := &store{up: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	b.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	var write prompb.WriteRequest
	if err == nil {
		err = write.Unmarshal(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, series := range write.Timeseries {
		var name, pod string
		for _, l := range series.Labels {
			switch l.Name {
			case "__name__":
				name = l.Value
			case "pod":
				pod = l.Value
			}
		}
		if name == "up" && len(series.Samples) > 0 && series.Samples[len(series.Samples)-1].Value == 1 {
			s.up[pod] = true
		}
	}
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.up)
}

// newTarget is where all pods answer.
func newTarget(b *testing.B) (host string, port int32) {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		for i := range 10 {
			fmt.Fprintf(w, "# TYPE work_%d counter\nwork_%d{kind=\"a\"} 1\n", i, i)
		}
	}))
	b.Cleanup(server.Close)
	var n int
	if _, err := fmt.Sscanf(server.Listener.Addr().String(), "127.0.0.1:%d", &n); err != nil {
		b.Fatal(err)
	}
	return "127.0.0.1", int32(n)
}
