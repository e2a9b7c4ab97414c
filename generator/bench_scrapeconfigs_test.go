package generator_test

import (
	"fmt"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// discoveries are how the ScrapeConfigs of the benchmark find targets.
var discoveries = []string{
	`  staticConfigs: [{targets: ["10.0.0.1:9100", "10.0.0.2:9100"], labels: {rack: "7", site: north}}]`,
	`  httpSDConfigs: [{url: "https://inventory.example.com/targets", refreshInterval: 1m, authorization: {credentials: {name: inventory, key: token}}}]`,
	`  kubernetesSDConfigs: [{role: Pod, namespaces: {names: [shop]}, selectors: [{role: Pod, label: app=shop}], attachMetadata: {node: true}}]`,
	`  consulSDConfigs: [{server: "consul:8500", basicAuth: {username: {name: consul, key: user}, password: {name: consul, key: password}}, services: [shop, cart], tagSeparator: ";", tlsConfig: {ca: {configMap: {name: ca, key: ca.crt}}}}]`,
	`  ec2SDConfigs: [{region: eu-west-1, port: 9100, filters: [{name: "tag:env", values: [prod]}]}]`,
}

// BenchmarkScrapeConfigs is the object set to the bytes of the configuration, for ScrapeConfigs. The goal is 0.02 ms
// for each.
func BenchmarkScrapeConfigs(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		results := []manifest.Result{manifest.Parse(manifest.File{Path: "agent.yaml",
			Data: []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec: {scrapeConfigSelector: {}, remoteWrite: [{url: "https://mimir.example.com/api/v1/push"}]}
`)}, manifest.Options{Compatibility: manifest.Current})}
		for i := range n {
			text := fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {name: sc-%d, namespace: monitoring}
spec:
  scrapeInterval: 1m
  metricsPath: /metrics
%s
  relabelings:
  - sourceLabels: [__address__]
    targetLabel: instance
  metricRelabelings:
  - {sourceLabels: [__name__], regex: "go_gc_.*", action: drop}
`, i, discoveries[i%len(discoveries)])
			results = append(results, manifest.Parse(manifest.File{Path: fmt.Sprintf("%d.yaml", i), Data: []byte(text)},
				manifest.Options{Compatibility: manifest.Current}))
		}
		set := manifest.NewSet(results...)
		if out := generator.Render(set, generator.Options{Compatibility: manifest.Current},
			nil); out.Diags.HasErrors() || len(out.Units) != 1 {
			b.Fatal(out.Diags)
		}
		b.ReportAllocs()
		b.ResetTimer()
		wall, busy := measure(b, func() {
			h := hierarchy.Build(set, nil)[0]
			agentruntime.Print(compile.Hierarchy(h, set,
				compile.Options{Compatibility: manifest.Current,
					Secrets: secretref.Policies{Default: secretref.Reference}}).Metrics)
		})
		b.ReportMetric(float64(wall.Microseconds())/1000/float64(n), "ms/ScrapeConfig")
		b.ReportMetric(float64(busy.Microseconds())/1000/float64(n), "cpu-ms/ScrapeConfig")
	})
}
