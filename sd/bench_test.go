package sd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// fixed is a source with a fixed list of pods.
type fixed struct {
	pods   []poll.Pod
	agents []discover.Agent
}

// Run implements discover.Source.
func (f fixed) Run(ctx context.Context, changed func()) {
	changed()
	<-ctx.Done()
}

// Found implements discover.Source.
func (f fixed) Found() discover.Found {
	return discover.Found{Synced: true, Pods: f.pods, Agents: f.agents}
}

// Sees implements discover.Source.
func (f fixed) Sees(merge.Owner) bool { return true }

// instant is a fetcher that answers at once, with four targets.
type instant struct{}

// Fetch implements poll.Fetcher.
func (instant) Fetch(_ context.Context, addr netip.AddrPort, into *bytes.Buffer) error {
	into.WriteByte('[')
	for i, name := range []string{"agent", "node_exporter", "redis", "mysql"} {
		if i > 0 {
			into.WriteByte(',')
		}
		fmt.Fprintf(into, `{"targets":[%q],"labels":{"__meta_agent_integration_name":%q,"__metrics_path__":"/integrations/%s/metrics","pad":"%0600d"}}`, addr, name, name, 0)
	}
	into.WriteByte(']')
	return nil
}

// BenchmarkServe serves the document of 5,000 pods with four targets each.
func BenchmarkServe(b *testing.B) {
	pods := make([]poll.Pod, 5000)
	for i := range pods {
		pods[i] = poll.Pod{Owner: merge.Owner{Namespace: "ns", Name: fmt.Sprint("ga", i%20)},
			Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 80)}
	}
	a := New(Options{Source: fixed{pods: pods}, Log: slog.New(slog.DiscardHandler)})
	a.poller = poll.New(poll.Options{
		Interval: DefaultInterval, Timeout: DefaultPodTimeout, FirstTimeout: firstTimeout, Workers: DefaultWorkers,
		Scheme: "http", Limits: merge.DefaultLimits(),
		MaxDocument: DefaultMaxDocumentBytes, Fetcher: instant{}, Observer: a.metrics,
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	for a.poller.Document() == nil {
		time.Sleep(time.Millisecond)
	}
	server := httptest.NewServer(a.Handler(nil))
	defer func() {
		server.Close()
		cancel()
		<-done
	}()
	for name, headers := range map[string]map[string]string{
		"all": {}, "agent": {"query": "?grafanaagent=ns/ga1"},
		"unchanged": {"If-None-Match": `"` + a.poller.Document().All().Tag() + `"`},
		"gzip":      {"Accept-Encoding": "gzip"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+Path+headers["query"],
					nil)
				request.Header.Set("Accept-Encoding", "identity")
				for key, value := range headers {
					if key != "query" {
						request.Header.Set(key, value)
					}
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				n, _ := io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				b.SetBytes(n)
			}
		})
	}
}
