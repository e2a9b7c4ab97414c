package alloy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/model"
)

// scraped returns the endpoints of each component that scrapes, for a number of monitors in 40 namespaces.
func scraped(t *testing.T, monitors int, limit int64) map[string][]string {
	t.Helper()
	i := model.Instance{Name: "m/i", RemoteWrite: []model.RemoteWrite{{URL: "http://mimir"}}}
	for n := range monitors {
		job := &model.ScrapeConfig{JobName: fmt.Sprintf("serviceMonitor/team-%d/app-%d/0", n%40, n),
			Kubernetes: &model.KubernetesSD{Role: "pod"}}
		if job.Relabel = []*model.Relabel{{TargetLabel: "a", Replacement: model.Present("b")}}; limit > 0 {
			job.Counts[model.Targets] = &limit
		}
		i.ScrapeConfigs = append(i.ScrapeConfigs, job)
	}
	blocks, err := alloyconfig.Blocks(
		Print(&model.Config{Metrics: &model.Metrics{Configs: []model.Instance{i}}}).String())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, b := range blocks {
		if b.Name != "prometheus.scrape" {
			continue
		}
		for _, line := range strings.Split(b.Attrs[0].Value, "\n") {
			if ref, isEndpoint := strings.CutPrefix(strings.Trim(line, "\t,"), "discovery.relabel."); isEndpoint {
				out[b.Label] = append(out[b.Label], ref)
			}
		}
	}
	return out
}

// TestEndpointsShareAComponentUpToALimit: each endpoint is in one component, and a component never has more than the
// limit.
func TestEndpointsShareAComponentUpToALimit(t *testing.T) {
	for _, c := range []struct{ monitors, least int }{{1, 1}, {maxEndpoints, 1}, {maxEndpoints + 1, 2}, {5000, 20}} {
		all := scraped(t, c.monitors, 0)
		seen := map[string]bool{}
		for label, endpoints := range all {
			if len(endpoints) > maxEndpoints {
				t.Errorf("%d monitors: %s has %d endpoints", c.monitors, label, len(endpoints))
			}
			for _, e := range endpoints {
				if seen[e] {
					t.Errorf("%d monitors: %s is scraped twice", c.monitors, e)
				}
				seen[e] = true
			}
		}
		if len(seen) != c.monitors || len(all) < c.least || len(all) > 4*c.least {
			t.Errorf("%d monitors: %d endpoints in %d components", c.monitors, len(seen), len(all))
		}
	}
	if all := scraped(t, maxEndpoints+10, 3); len(all) != maxEndpoints+10 {
		t.Errorf("with a limit of targets: %d components", len(all))
	}
}

// TestOneMoreMonitorMovesFewEndpoints: only those of a component that is full move.
func TestOneMoreMonitorMovesFewEndpoints(t *testing.T) {
	before := scraped(t, 3000, 0)
	for n := 3001; n < 3020; n++ {
		after := scraped(t, n, 0)
		moved := 0
		for label, endpoints := range before {
			for _, e := range endpoints {
				if !slices.Contains(after[label], e) {
					moved++
				}
			}
		}
		if moved > maxEndpoints {
			t.Errorf("%d endpoints moved with monitor %d", moved, n)
		}
		before = after
	}
}
