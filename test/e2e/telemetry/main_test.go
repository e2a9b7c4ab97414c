// Package telemetry proves that what agentry renders delivers: metrics, logs and integrations
// arrive at their receivers with the series, labels and values that the custom resources ask for.
// The rendered objects are in a real API server; Kubernetes' own controllers make pods and
// endpoints of them; in the agents' pods run the real agent and the real config reloader, with the
// volumes, variables, arguments, paths and tokens that the pods' templates give them, and they
// write to a real Prometheus. Three shards scrape every target once; a monitor that comes arrives
// through the reloader, without a restart; integrations are found through the real sd-aggregator;
// as today's Prometheus Operator has them, ScrapeConfigs find what they list, what is in files, behind
// HTTP, in DNS, in Consul and in Kubernetes, scrape classes count, and agents scrape their own zones. These
// agents have exactly the rights that are computed for them; agents with one right less lose targets;
// and for conformance cases with more than twenty monitors the agents deliver the same series with
// the configuration that the real operator made. Rendered for Alloy, all of them deliver the same in the agent's Flow
// mode, which Alloy comes from; there, pods of a cluster share their targets. The test stands for the kubelet
// ([kubelet]), for the programs that are scraped, for Consul, and for Loki. What all pods share is the network, so that
// each server has its pod's address in place of 0.0.0.0 and 127.0.0.1.
package telemetry

import (
	"flag"
	"os"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

var update = flag.Bool("update", false, "write what is delivered to testdata, to be read before it is committed")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // Its parts wait, most of the time.
		panic(err)
	}
	harness.Main(m, func(c *harness.Cluster) { cluster = c }, harness.ControllerManager(), harness.Helm(),
		harness.Agentry(), harness.Aggregator(), harness.Agent(), harness.Reloader(), harness.Prometheus())
}

// TestTelemetry runs all parts at the same time, because each of them waits for agents, which send
// nothing in their first 15 seconds.
func TestTelemetry(t *testing.T) {
	w := newTestbed(t)
	t.Run("all", func(t *testing.T) {
		for name, part := range map[string]func(*testing.T, *testbed){
			"shards": shards, "integrations": integrations, "logs": logs, "reference": reference,
			"discoveries": discoveries, "zones": zones,
			"clustering": clustering,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				part(t, w)
			})
		}
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
