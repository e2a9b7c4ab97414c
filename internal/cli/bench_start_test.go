package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkStart runs the program as a shell does, once for each command: for what needs nothing, and for one monitor.
// They are measured against a Go program that does nothing, run in turn with them.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for name, text := range map[string]string{
		"nothing/main.go": "package main\n\nfunc main() {}\n",
		"nothing/go.mod":  "module nothing\n",
		"one/all.yaml": `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {serviceAccountName: agent, metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec: {serviceMonitorSelector: {}, remoteWrite: [{url: "https://mimir.example.com/api/v1/push"}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop, namespace: monitoring}
spec: {selector: {matchLabels: {app: shop}}, endpoints: [{port: metrics}]}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	nothing := filepath.Join(dir, "nothing", "nothing")
	build := exec.Command("go", "build", "-o", nothing, ".")
	build.Dir, build.Env = filepath.Dir(nothing), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	for name, args := range map[string][]string{
		"version": {"version"}, "render": {"render", "--no-pipeline", filepath.Join(dir, "one")},
	} {
		b.Run(name, func(b *testing.B) {
			var least time.Duration
			for b.Loop() {
				took(b, "agentry", args...)
				least += took(b, nothing)
			}
			each := (b.Elapsed() - least) / time.Duration(b.N)
			b.ReportMetric(float64(each.Microseconds())/1000, "ms/start")
			b.ReportMetric(float64(each)*float64(b.N)/float64(least), "times-nothing")
		})
	}
}

// took runs a program and returns how long that took.
func took(b *testing.B, program string, args ...string) time.Duration {
	b.Helper()
	begun := time.Now()
	if text, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	return time.Since(begun)
}
