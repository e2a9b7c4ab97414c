package telemetry

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// discoveries follows ScrapeConfigs of six ways to find targets, and monitors with scrape classes, through
// two shards to stored series, as today's Prometheus Operator would have it, with no more rights than are computed.
// Agents with a right less run beside them.
func discoveries(t *testing.T, w *testbed) {
	startRegistry(t)
	w.runCurrent(t, "discoveries", "scraping", 2)
	lesser := w.runWithLess(t, "discoveries", "scraping")
	golden(t, "discoveries.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="discoveries",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	scrapedOnce(t, `cluster="discoveries"`, "shard")
	w.succeed(t, "discoveries", "scraping", 2)
	w.lose(t, "discoveries", lesser)
}

// zones lets three agents share what runs on nodes in two zones: each target is scraped once, by an agent
// of its zone. The third agent is one more than the zones can share: it scrapes nothing.
func zones(t *testing.T, w *testbed) {
	w.runCurrent(t, "zones", "zoned", 3)
	golden(t, "zones.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="zones",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	for _, up := range scrapedOnce(t, `cluster="zones"`, "shard", "zone") {
		if up.labels["zone"] != up.labels["lies_in"] {
			t.Errorf("an agent in zone %s scrapes %s", up.labels["zone"], up)
		}
	}
	w.succeed(t, "zones", "zoned", 3)
}

// succeed runs the successors of the agents of a folder, until they have delivered the same.
func (w *testbed) succeed(t *testing.T, folder, namespace string, agents int) {
	t.Helper()
	w.apply(t, newSuccessor(t, folder).render(t, "current"))
	w.runs(t, namespace, "successor-", agents)
	sameSeries(t, folder+".txt", fmt.Sprintf(`cluster="%s-successor",__name__!~"scrape_.*"`, folder))
}

// runCurrent runs the agents of a folder of testdata, in mode current, with what they find and with the rights that are
// computed for them.
func (w *testbed) runCurrent(t *testing.T, folder, namespace string, agents int) {
	t.Helper()
	w.apply(t, harness.Decode(t, read(t, filepath.Join("testdata", folder+".yaml"))))
	w.apply(t, newManifests(t, folder).pass(t, "compatibility: current"))
	w.runs(t, namespace, "agent-", agents)
}

// scrapedOnce holds every target to one agent, and returns the series that say so. The labels are those
// by which agents differ.
func scrapedOnce(t *testing.T, of string, labels ...string) []sample {
	t.Helper()
	ups, err := delivered(of + `,__name__="up"`)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, up := range ups {
		target := sample{labels: map[string]string{}, value: up.value}
		for name, value := range up.labels {
			if !slices.Contains(labels, name) {
				target.labels[name] = value
			}
		}
		times[target.String()]++
	}
	for target, n := range times {
		if n != 1 {
			t.Errorf("%s is scraped %d times", target, n)
		}
	}
	return ups
}
