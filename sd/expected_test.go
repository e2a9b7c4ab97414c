package sd

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// crashes is a pod whose last integration can crash.
type crashes struct{ crashed atomic.Bool }

// Fetch implements poll.Fetcher.
func (c *crashes) Fetch(_ context.Context, addr netip.AddrPort, into *bytes.Buffer) error {
	into.WriteString("[")
	fmt.Fprintf(into, `{"targets":[%q],"labels":{"__meta_agent_integration_name":"agent"}}`, addr)
	if !c.crashed.Load() {
		fmt.Fprintf(into, `,{"targets":[%q],"labels":{"__meta_agent_integration_name":"redis"}}`, addr)
	}
	into.WriteString("]")
	return nil
}

// TestTheAlertNoticesACrashedIntegration: within two intervals, the values that the alert compares differ.
func TestTheAlertNoticesACrashedIntegration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := merge.Owner{Namespace: "ns", Name: "ga"}
		source := fixed{
			pods:   []poll.Pod{{Owner: owner, Addr: netip.AddrPortFrom(rig.Addr(1), 80), Name: "ga-integrations-ds-x"}},
			agents: []discover.Agent{{Owner: owner, DaemonSet: map[string]int{"agent": 1, "redis": 1}}},
		}
		pod := new(crashes)
		a := New(Options{Source: source, Log: slog.New(slog.DiscardHandler)})
		a.poller = poll.New(poll.Options{
			Interval: DefaultInterval, Timeout: DefaultPodTimeout, FirstTimeout: firstTimeout, Workers: DefaultWorkers,
			Scheme: "http", Limits: merge.DefaultLimits(),
			MaxDocument: DefaultMaxDocumentBytes, Fetcher: pod, Observer: a.metrics, Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		integrations := func(after time.Duration) []Expectation {
			time.Sleep(after)
			synctest.Wait()
			return a.report().Agents[0].Integrations
		}
		all := []Expectation{{"agent", 1, 1}, {"redis", 1, 1}}
		if diff := cmp.Diff(all, integrations(time.Minute)); diff != "" {
			t.Error(diff)
		}
		pod.crashed.Store(true)
		if diff := cmp.Diff([]Expectation{{"agent", 1, 1}, {"redis", 1, 0}}, integrations(2*DefaultInterval)); diff !=
			"" {
			t.Error(diff)
		}
		pod.crashed.Store(false)
		if diff := cmp.Diff(all, integrations(2*DefaultInterval)); diff != "" {
			t.Error(diff)
		}
		cancel()
		running.Wait()
	})
}
