package generator_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// fleet is one agent with n ServiceMonitors of two endpoints, a file each.
func fleet(n int) (agent manifest.File, monitors []manifest.File) {
	agent = manifest.File{Path: "agent.yaml", Data: []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec:
  serviceAccountName: grafana-agent
  metrics:
    instanceSelector: {matchLabels: {agent: main}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring, labels: {agent: main}}
spec:
  serviceMonitorSelector: {matchLabels: {team: platform}}
  serviceMonitorNamespaceSelector: {}
  remoteWrite: [{url: "https://mimir.example.com/api/v1/push"}]
`)}
	for i := range n {
		monitors = append(monitors, manifest.File{Path: fmt.Sprintf("monitors/%05d.yaml", i),
			Data: fmt.Appendf(nil, `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: service-%[1]d
  namespace: team-%[2]d
  labels:
    app.kubernetes.io/name: service-%[1]d
    team: platform
spec:
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels:
      app.kubernetes.io/name: service-%[1]d
      app.kubernetes.io/component: server
  namespaceSelector:
    matchNames:
      - team-%[2]d
  endpoints:
    - port: http-metrics
      interval: 30s
      scrapeTimeout: 10s
      path: /metrics
      relabelings:
        - sourceLabels: [__meta_kubernetes_pod_node_name]
          targetLabel: node
      metricRelabelings:
        - sourceLabels: [__name__]
          regex: go_gc_.*|process_.*
          action: drop
    - port: admin
      interval: 1m
      path: /admin/metrics
      scheme: https
      tlsConfig:
        insecureSkipVerify: true
`, i, i%50)})
	}
	return agent, monitors
}

// loadAll parses files on all processors, as the command line does.
func loadAll(files []manifest.File) *manifest.Set {
	results := make([]manifest.Result, len(files))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(files); i += workers {
				results[i] = manifest.Parse(files[i], manifest.Options{})
			}
		})
	}
	wg.Wait()
	return manifest.NewSet(results...)
}

func sizes(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { run(b, n) })
	}
}

// cpu is the processor time of the process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs f and returns its wall and processor time for one operation.
func measure(b *testing.B, f func()) (wall, busy time.Duration) {
	start, startCPU := time.Now(), cpu()
	for range b.N {
		f()
	}
	n := time.Duration(b.N)
	return time.Since(start) / n, (cpu() - startCPU) / n
}

// BenchmarkFilesToOutput is all of a render, from the bytes of files to the bytes of
// files, against only decoding the same monitors with sigs.k8s.io/yaml on one processor.
func BenchmarkFilesToOutput(b *testing.B) { filesToOutput(b, manifest.Operator) }

// BenchmarkFilesToOutputCurrent is the same as today's Prometheus Operator does it.
func BenchmarkFilesToOutputCurrent(b *testing.B) { filesToOutput(b, manifest.Current) }

func filesToOutput(b *testing.B, mode manifest.Compatibility) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		files := append([]manifest.File{agent}, monitors...)
		b.ReportAllocs()
		wall, busy := measure(b, func() {
			out := generator.Render(loadAll(files), generator.Options{Compatibility: mode}, nil)
			if len(out.Units) != 1 || out.Units[0].Failed {
				b.Fatal(out.Diags)
			}
		})
		b.StopTimer()
		decode, _ := measure(b, func() { decodeOnly(b, monitors) })
		b.ReportMetric(float64(busy.Microseconds())/1000, "cpu-ms/op")
		b.ReportMetric(float64(decode.Microseconds())/1000, "decode-ms/op")
		b.ReportMetric(float64(wall)/float64(decode), "wall/decode")
		b.ReportMetric(peakRSS(), "peak-RSS-MB")
	})
}

// BenchmarkDecodeOnly is the yardstick.
func BenchmarkDecodeOnly(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		_, monitors := fleet(n)
		b.ReportAllocs()
		for b.Loop() {
			decodeOnly(b, monitors)
		}
	})
}

func decodeOnly(b *testing.B, files []manifest.File) {
	for i := range files {
		var m monitoringv1.ServiceMonitor
		if err := yaml.Unmarshal(files[i].Data, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is files to the object set.
func BenchmarkLoad(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		files := append([]manifest.File{agent}, monitors...)
		b.ReportAllocs()
		for b.Loop() {
			loadAll(files)
		}
	})
}

// BenchmarkSetToConfig is the object set to the bytes of the configuration, against only decoding the same monitors.
// The goal is 0.04 ms for each.
func BenchmarkSetToConfig(b *testing.B) { setToConfig(b, manifest.Operator) }

// BenchmarkSetToConfigCurrent is the same as today's Prometheus Operator does it.
func BenchmarkSetToConfigCurrent(b *testing.B) { setToConfig(b, manifest.Current) }

func setToConfig(b *testing.B, mode manifest.Compatibility) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		set := loadAll(append([]manifest.File{agent}, monitors...))
		b.ReportAllocs()
		b.ResetTimer()
		size := 0
		wall, _ := measure(b, func() { size = len(config(set, mode)) })
		b.StopTimer()
		decode, _ := measure(b, func() { decodeOnly(b, monitors) })
		b.SetBytes(int64(size))
		b.ReportMetric(float64(wall.Microseconds())/1000/float64(n), "ms/monitor")
		b.ReportMetric(float64(wall)/float64(decode), "wall/decode")
	})
}

// config returns the configuration of the metrics pods of the first GrafanaAgent.
func config(set *manifest.Set, mode manifest.Compatibility) []byte {
	h := hierarchy.Build(set, nil)[0]
	options := compile.Options{Compatibility: mode, Secrets: secretref.Policies{Default: secretref.Reference}}
	return agentruntime.Print(compile.Hierarchy(h, set, options).Metrics).Bytes
}

// TestAllocations holds what makes rendering fast: monitors share the rules that they repeat, and paths are made for
// findings only.
func TestAllocations(t *testing.T) {
	const monitors, most = 200, 42
	agent, files := fleet(monitors)
	set := loadAll(append([]manifest.File{agent}, files...))
	for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
		if n := testing.AllocsPerRun(5, func() { config(set, mode) }) / monitors; n > most {
			t.Errorf("mode %s: %.1f allocations for each monitor of two endpoints, want at most %d", mode, n, most)
		}
	}
}

// BenchmarkUnchanged is a render in which no object is new.
func BenchmarkUnchanged(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		set := loadAll(append([]manifest.File{agent}, monitors...))
		prev := generator.Render(set, generator.Options{}, nil)
		b.ReportAllocs()
		for b.Loop() {
			prev = generator.Render(set, generator.Options{}, prev)
		}
	})
}

// BenchmarkInvalid is a render in which every monitor has an error: the time for one of them does not grow with their
// number.
func BenchmarkInvalid(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		for i := range monitors {
			monitors[i].Data = bytes.Replace(monitors[i].Data, []byte("component: server"), []byte("component: a/b"), 1)
		}
		set := loadAll(append([]manifest.File{agent}, monitors...))
		for b.Loop() {
			if out := generator.Render(set, generator.Options{Compatibility: manifest.Current},
				nil); len(out.Units[0].Held) != n {
				b.Fatalf("%d of %d are left out", len(out.Units[0].Held), n)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/float64(n), "ms/monitor")
	})
}

// peakRSS is the process's peak resident memory so far, in MB (Linux).
func peakRSS() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// BenchmarkUnselected is a render in which most monitors have a label that no selector wants, so that they cost no more
// than what says so.
func BenchmarkUnselected(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		for i := range monitors[1:] {
			monitors[i].Data = bytes.Replace(monitors[i].Data, []byte("team: platform"), []byte("team: platfrm"), 1)
		}
		set := loadAll(append([]manifest.File{agent}, monitors...))
		b.ReportAllocs()
		for b.Loop() {
			if out := generator.Render(set, generator.Options{}, nil); len(out.Diags) <= generator.MaxUnselected {
				b.Fatal(out.Diags)
			}
		}
	})
}
