package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// integrations follows MetricsIntegrations, one of them on every node, from their pods through the
// sd-aggregator, as its chart installs it, and two shards to stored series. Alloy needs no sd-aggregator to deliver the
// same.
func integrations(t *testing.T, w *testbed) {
	chart := filepath.Join(harness.Root(), "charts", "sd-aggregator")
	w.apply(t, run(t, harness.Helm(), "template", "sd-aggregator", chart, "--skip-tests", "--namespace", "monitoring",
		"--kube-version", harness.KubernetesVersion,
		"--set", "namespaces={fleet},poll.interval=1s,poll.timeout=1s,replicas=1"))
	objects := newManifests(t, "integrations").render(t)
	scrapes := func(o *unstructured.Unstructured) bool { return o.GetKind() == "StatefulSet" }
	w.apply(t, slices.DeleteFunc(slices.Clone(objects), scrapes))
	w.runs(t, "monitoring", "sd-aggregator-", 1)
	w.runs(t, "fleet", "agent-", 2) // One pod of those on the node, one of the others.
	// Agents ask every 30 seconds, which is long for who comes too early.
	harness.Eventually(t, "the sd-aggregator lists all", func() error { return w.lists(3) })

	w.apply(t, objects)
	w.apply(t, newSuccessor(t, "integrations").render(t, "operator"))
	w.runs(t, "fleet", "agent-", 4)
	w.runs(t, "fleet", "successor-", 4)
	golden(t, "integrations.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="fleet/agent",__name__=~"up|redis_up|node_scrape_collector_success"`)
		return lines(samples), err
	})
	sameSeries(t, "integrations.txt", `cluster="fleet/successor",__name__=~"up|redis_up|node_scrape_collector_success"`)
}

// lists is an error if the sd-aggregator lists another number of integrations.
func (w *testbed) lists(want int) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + w.addressOf("monitoring", "sd-aggregator-") +
		":8080/operator/api/v1/metrics/integrations/sd?grafanaagent=fleet/agent")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var groups []any
	if err := json.NewDecoder(response.Body).Decode(&groups); err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	if len(groups) != want {
		return fmt.Errorf("it lists %d integrations, not %d", len(groups), want)
	}
	return nil
}
