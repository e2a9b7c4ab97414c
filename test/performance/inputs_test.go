package performance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// perUnit is how many files the inputs of one GrafanaAgent are, in a namespace of its own.
const perUnit = 50

// fleetFile is file i of a fleet: an agent with an instance, or one of its monitors, with two endpoints.
func fleetFile(i, round int) (name, text string) {
	ns := fmt.Sprintf("team-%04d", i/perUnit)
	if i%perUnit == 0 {
		return "in/" + ns + "/agent.yaml", fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: %[1]s}
spec:
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: %[1]s}
spec:
  serviceMonitorSelector: {}
  remoteWrite: [{url: "http://mimir/push"}]
`, ns)
	}
	return fmt.Sprintf("in/%s/m%02d.yaml", ns, i%perUnit), monitor(ns, fmt.Sprintf("service-%d", i), round)
}

func monitor(ns, name string, round int) string {
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: %[2]s
  namespace: %[1]s
  labels: {app.kubernetes.io/name: %[2]s}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: %[2]s}
  endpoints:
    - port: http-metrics
      interval: 30s
      path: /metrics/%[3]d
      relabelings:
        - sourceLabels: [__meta_kubernetes_pod_node_name]
          targetLabel: node
    - port: admin
      interval: 1m
`, ns, name, round)
}

// fleet yields the files of a fleet.
func fleet(n int) func(yield func(name, text string) bool) {
	return func(yield func(name, text string) bool) {
		for i := range n {
			if !yield(fleetFile(i, 0)) {
				return
			}
		}
	}
}

// folder writes files below a new folder, which is a repository of Git with one commit.
func folder(b *testing.B, files func(yield func(name, text string) bool)) string {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// libyaml returns the processor time in which libyaml decodes all files below a folder, called by PyYAML.
func libyaml(b *testing.B, dir string) time.Duration {
	b.Helper()
	const program = `
import glob, sys, time, yaml
texts = [open(f).read() for f in glob.glob(sys.argv[1] + "/**/*.yaml", recursive=True)]
start = time.process_time()
for text in texts:
    for _ in yaml.load_all(text, Loader=yaml.CSafeLoader): pass
print(time.process_time() - start)
`
	var all []time.Duration
	for range rounds {
		out, err := exec.Command("python3", "-c", program, dir).Output()
		if err != nil {
			b.Fatal("decode by libyaml, which needs python3-yaml: ", err)
		}
		took, err := time.ParseDuration(strings.TrimSpace(string(out)) + "s")
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, took)
	}
	return middle(all, func(d time.Duration) time.Duration { return d })
}
