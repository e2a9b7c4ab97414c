package browser

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// ways are the inputs of monitors of all kinds, with rules that somebody may write to break the page.
const ways = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}, scrapeInterval: 30s}, logs: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m}
spec:
  serviceMonitorSelector: {}
  podMonitorSelector: {}
  probeSelector: {}
  scrapeConfigSelector: {}
  remoteWrite:
  - url: https://mimir.example.com/api/v1/push
    basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}
    writeRelabelConfigs: [{action: keep, sourceLabels: [team], regex: shop|search}]
  - {url: "https://long-term.example.com/api/v1/push"}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: main, namespace: m}
spec: {podLogsSelector: {}, clients: [{url: "https://loki.example.com/push"}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: m}
spec:
  sampleLimit: 5000
  namespaceSelector: {matchNames: [team-shop, team-search]}
  selector: {matchLabels: {app: checkout}}
  endpoints:
  - port: http
    scheme: https
    interval: 15s
    scrapeTimeout: 10s
    relabelings:
    - {action: replace, targetLabel: team, replacement: '<b onclick="alert(4)">shop</b>'}
    - {action: drop, sourceLabels: [__meta_kubernetes_pod_name], regex: "checkout-LONG"}
    metricRelabelings:
    - {action: drop, sourceLabels: [__name__], regex: "<img src=x onerror=alert(1)>"}
    - {action: labeldrop, regex: "LONG"}
  - {port: admin}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: pods, namespace: m}
spec: {selector: {}, namespaceSelector: {any: true}, podMetricsEndpoints: [{port: http}]}
---
apiVersion: monitoring.coreos.com/v1
kind: Probe
metadata: {name: front, namespace: m}
spec:
  prober: {url: "blackbox.m.svc:9115"}
  targets: {staticConfig: {static: [shop.example.com, search.example.com]}}
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {name: nodes, namespace: m}
spec: {staticConfigs: [{targets: ["10.0.0.1:9100"]}], consulSDConfigs: [{server: "consul.m.svc:8500"}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata: {name: checkout, namespace: m}
spec:
  selector: {matchLabels: {app: checkout}}
  pipelineStages: [{cri: {}}, {drop: {expression: ".*debug.*"}}]
`

// TestTheWayOfAJob looks at the ways of jobs of all kinds of monitors, which are the same for all runtimes.
func TestTheWayOfAJob(t *testing.T) {
	text := strings.ReplaceAll(ways, "LONG", strings.Repeat(`(?:unbreakable\d+|a)+`, 60))
	text = strings.ReplaceAll(text, `\d`, `\\d`)
	parsed := manifest.Parse(manifest.File{Path: "teams/" + long()[:80] + "/monitors.yaml", Data: []byte(text)},
		manifest.Options{Compatibility: manifest.Current})
	render := generator.Render(manifest.NewSet(parsed), generator.Options{Compatibility: manifest.Current},
		nil).Explained()
	service := admin(t, gallery{standing{pipelines: []fleet.Status{running("prod")}}, &render}, nil)
	subjects := map[string]subject{}
	for object, says := range map[string][]string{
		"ServiceMonitor/m/checkout": {"kubernetes, role endpoints, namespaces team-shop, team-search",
			`set team to <b onclick="alert(4)">shop</b>`, "drop series where __name__ is <img src=x onerror=alert(1)>",
			"https, path /metrics, every 15s, timeout 10s", "limit: samples 5000",
			"keep series where team is shop|search",
			"https://long-term.example.com/api/v1/push", "with Secret/m/login (pass, user)"},
		"PodMonitor/m/pods":    {"kubernetes, role pod, all namespaces", "http, path /metrics, every 30s"},
		"Probe/m/front":        {"static, shop.example.com, search.example.com", "path /probe"},
		"ScrapeConfig/m/nodes": {"static, 10.0.0.1:9100", "consul"},
		"PodLogs/m/checkout":   {"kubernetes, role pod, namespace m", "stage\ndrop", "https://loki.example.com/push"},
	} {
		kind, _, _ := strings.Cut(object, "/")
		subjects[kind] = subject{path: "/pipelines/prod/explain?object=" + object, says: says}
	}
	examine(t, chromium(t), service, subjects)
}
