package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo plays the demo and looks for what it is meant to show.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the whole demo: make race runs it")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Chdir(filepath.Join("..", ".."))
	var out strings.Builder
	if err := run(t.Context(), &out, false); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"└── MetricsInstance/monitoring/primary",
		"quickstart: pushed ",
		"quickstart: nothing to change on environments/quickstart",
		"grafana-agent.statefulset.yaml\n",
		"-              scrape_interval: 30s\n+              scrape_interval: 2m\n",
		"  held ServiceMonitor/team-shop/checkout\n",
		"-              scrape_interval: 1m\n+              scrape_interval: 5m\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}
