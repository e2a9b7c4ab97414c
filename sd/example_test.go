package sd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// onePod is DNS in which each name has one pod.
type onePod struct{}

func (onePod) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.0.1.1")}, nil
}

// The aggregator finds the integration pods of GrafanaAgents, here by DNS, and serves their targets as one document.
func Example() {
	pods, err := rig.NewPods(nil) // stands for the agents
	if err != nil {
		panic(err)
	}
	defer pods.Close()

	log := slog.New(slog.DiscardHandler)
	source := discover.NewDNS(discover.DNSOptions{Log: log, Resolver: onePod{}, Names: []discover.Name{{
		Owner: merge.Owner{Namespace: "monitoring", Name: "agent"},
		Host:  "agent-integrations-sd.monitoring.svc", Port: uint16(pods.Port)}}})
	aggregator := sd.New(sd.Options{Source: source, Log: log})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go aggregator.Run(ctx)

	handler := aggregator.Handler(nil)
	for {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, sd.Path, http.NoBody))
		if answer.Code == http.StatusOK {
			var groups []struct{ Labels map[string]string }
			if err := json.Unmarshal(answer.Body.Bytes(), &groups); err != nil {
				panic(err)
			}
			for _, group := range groups {
				fmt.Println(group.Labels["job"])
			}
			return
		}
		time.Sleep(10 * time.Millisecond) // it does not know all pods yet
	}
	// Output:
	// integrations/agent
	// integrations/mysql
	// integrations/node_exporter
	// integrations/redis
}
