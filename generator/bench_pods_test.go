package generator_test

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// decodeRounds is how often the files are decoded for comparison.
const decodeRounds = 3

// benchPods renders n objects of a kind that are selected by one GrafanaAgent, from files,
// and reports the time against decoding them with sigs.k8s.io/yaml alone.
func benchPods(b *testing.B, agent, object string) {
	sizes(b, func(b *testing.B, n int) {
		files := []manifest.File{{Path: "agent.yaml", Data: []byte(agent)}}
		for i := range n {
			files = append(files, manifest.File{Path: fmt.Sprintf("%d.yaml", i), Data: fmt.Appendf(nil, object, i)})
		}
		out := generator.Render(loadAll(files), generator.Options{Secrets: secretref.Plaintext}, nil)
		if out.Diags.HasErrors() {
			b.Fatal(out.Diags)
		}
		start := time.Now()
		for range decodeRounds {
			for i := range files[1:] {
				var v map[string]any
				if err := yaml.Unmarshal(files[i+1].Data, &v); err != nil {
					b.Fatal(err)
				}
			}
		}
		decode := float64(time.Since(start).Nanoseconds()) / decodeRounds
		b.ReportAllocs()
		for b.Loop() {
			generator.Render(loadAll(files), generator.Options{Secrets: secretref.Plaintext}, nil)
		}
		perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(perOp/1e6/float64(n), "ms/object")
		b.ReportMetric(perOp/decode, "x-decode-only")
	})
}

func BenchmarkPodLogs(b *testing.B) {
	benchPods(b, `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {logs: {instanceSelector: {}, clients: [{url: "https://loki.example.com/push"}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: l, namespace: m}
spec: {podLogsSelector: {}}
`, `apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata:
  name: p%d
  namespace: m
spec:
  selector:
    matchLabels: {app: shop}
  podTargetLabels: [team, app]
  pipelineStages:
  - cri: {}
  - json:
      expressions: {level: lvl, trace: ctx.trace_id}
  - labels: {level: ""}
  - match:
      selector: '{level="debug"}'
      action: drop
  - match:
      selector: '{app="shop"} |= "GET"'
      stages: |
        - regex:
            expression: '^(?P<ip>\S+) (?P<verb>\S+)'
        - labelDrop: [ip]
  - timestamp:
      source: ts
      format: RFC3339
  relabelings:
  - sourceLabels: [__meta_kubernetes_pod_node_name]
    targetLabel: node
`)
}

func BenchmarkMetricsIntegrations(b *testing.B) {
	benchPods(b, `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {integrations: {selector: {}}}
`, `apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata:
  name: i%d
  namespace: m
  labels: {team: shop, app.kubernetes.io/name: redis}
spec:
  name: redis
  config:
    redis_addr: redis:6379
    export_client_list: true
    check_keys: "a,b,c"
    extra_labels: {tier: cache}
`)
}
