package manifest

import (
	"bytes"
	"fmt"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// monitor is a ServiceMonitor as people write them, with two endpoints.
func monitor(i int) []byte {
	return fmt.Appendf(nil, `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
  labels:
    app.kubernetes.io/name: app-%[1]d
    release: prometheus
spec:
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels:
      app.kubernetes.io/name: app-%[1]d
  namespaceSelector:
    matchNames: [team-%[2]d]
  endpoints:
  - port: http-metrics
    interval: 30s
    path: /metrics
    scheme: https
    tlsConfig:
      insecureSkipVerify: true
    relabelings:
    - sourceLabels: [__meta_kubernetes_pod_node_name]
      targetLabel: node
      action: replace
    metricRelabelings:
    - sourceLabels: [__name__]
      regex: go_(gc|memstats)_.*
      action: drop
  - port: admin
    interval: 60s
    honorLabels: true
    basicAuth:
      username: {name: creds, key: user}
      password: {name: creds, key: pass}
`, i, i%20)
}

const benchMonitors = 1000

// BenchmarkParse reads 1,000 ServiceMonitors in as many files. BenchmarkDecodeOnly is what
// it is measured against.
func BenchmarkParse(b *testing.B) {
	files := make([]File, benchMonitors)
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("%d.yaml", i), Data: monitor(i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			if result := Parse(f, Options{}); len(result.Objects) != 1 || len(result.Diags) > 0 {
				b.Fatal(result.Diags)
			}
		}
	}
}

// BenchmarkDecodeOnly decodes the same files as sigs.k8s.io/yaml does, and nothing else.
func BenchmarkDecodeOnly(b *testing.B) {
	files := make([][]byte, benchMonitors)
	for i := range files {
		files[i] = monitor(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range files {
			var value monitoringv1.ServiceMonitor
			if err := yaml.Unmarshal(data, &value); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkParseOneFile reads the same objects as documents of one file.
func BenchmarkParseOneFile(b *testing.B) {
	var data bytes.Buffer
	for i := range benchMonitors {
		data.WriteString("---\n")
		data.Write(monitor(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if result := Parse(File{Data: data.Bytes()}, Options{}); len(result.Objects) != benchMonitors {
			b.Fatal(result.Diags)
		}
	}
}

// BenchmarkNewSet merges 100,000 objects.
func BenchmarkNewSet(b *testing.B) {
	const count = 100_000
	results := make([]Result, count)
	for i := range results {
		id := ID{Kind: "ServiceMonitor", Namespace: fmt.Sprintf("team-%d", i%200),
			Name: fmt.Sprintf("app-%d", i*7919%count)}
		results[i].Objects = []*Object{{ID: id}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if set := NewSet(results...); len(set.All()) != count {
			b.Fatal(len(set.All()))
		}
	}
}
