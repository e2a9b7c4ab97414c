package alive

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestAlertsAskForRealMetrics holds the alerts and the dashboard about agents to the metrics that real ones export: one
// that scrapes, and one that reads logs.
func TestAlertsAskForRealMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "generator", "testdata", "self-monitoring-agent.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, m := range regexp.MustCompile(`\b([a-z][a-z0-9_]+)\{namespace=`).FindAllSubmatch(text, -1) {
		asked[string(m[1])] = true
	}
	delete(asked, "up")
	// These come with the first success, with the first failure, and with the first line.
	for _, later := range []string{
		"prometheus_remote_storage_queue_highest_sent_timestamp_seconds", "agent_metrics_instance_abnormal_exits_total",
		"promtail_dropped_entries_total",
	} {
		if !asked[later] {
			t.Errorf("nothing asks for %s", later)
		}
		delete(asked, later)
	}
	if len(asked) < 15 {
		t.Fatalf("only %d metrics are asked for", len(asked))
	}
	configs, _ := newManifests(t, "autoscrape", "127.0.0.1:1").render(t)
	scraping := startAgent(t, "the agent that scrapes", configs[integrations])
	reading := startAgent(t, "the agent that reads logs", startNode(t).render(t, "logs", startLoki(t)))
	eventually(t, "exporting metrics", func() error {
		exported, err := exportedMetrics(scraping.address, reading.address)
		if err != nil {
			return err
		}
		var missing []string
		for name := range asked {
			if !exported[name] {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("no agent exports %s", missing)
		}
		return nil
	})
}

// exportedMetrics are the names of the metrics at some addresses.
func exportedMetrics(addresses ...string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, address := range addresses {
		resp, err := client().Get("http://" + address + "/metrics")
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9_]+)[{ ]`).FindAllSubmatch(text, -1) {
			out[string(m[1])] = true
		}
	}
	return out, nil
}
