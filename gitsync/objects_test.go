package gitsync_test

import (
	"fmt"
	"strings"
)

const webA, agentA = "in/a/web.yaml", "in/a/agent.yaml"

// noYAML is the text of a file that cannot be read.
const noYAML = "{"

func agent(ns string) string {
	return fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
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

func monitor(ns, name, port string) string {
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: %s, namespace: %s}
spec:
  selector: {matchLabels: {app: %s}}
  endpoints: [{port: %s}]
`, name, ns, name, port)
}

// bad is a monitor that cannot be rendered.
func bad(ns string) string {
	return strings.Replace(monitor(ns, "web", "http"), "port: http", "port: http, interval: 1s, scrapeTimeout: 2s", 1)
}

// badField is a monitor that its schema refuses, and noYAML no YAML.
func badField(ns, name string) string {
	return strings.Replace(monitor(ns, name, "http"), "port: http", "port: 80", 1)
}

// twoTeams is an input of two units with one monitor each.
func twoTeams() map[string]string {
	return map[string]string{
		"in/a/agent.yaml": agent("a"), "in/a/web.yaml": monitor("a", "web", "http"),
		"in/b/agent.yaml": agent("b"), "in/b/web.yaml": monitor("b", "web", "http"),
	}
}

func account(ns, name, team string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\n"+
		"metadata: {name: %s, namespace: %s, labels: {team: %s}}\n", name, ns, team)
}

func fluxKustomization(name, path, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"+
		"metadata: {name: %s, namespace: flux-system}\n"+
		"spec: {path: %s, interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: flux-system}%s}\n", name,
		path, more)
}

func argoApplication(name, source, namespace string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\n"+
		"metadata: {name: %s, namespace: argocd}\nspec:\n  %s\n"+
		"  destination: {server: https://kubernetes.default.svc, namespace: %s}\n", name, source, namespace)
}

// list is a List of objects.
func list(objects ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for _, text := range objects {
		b.WriteString("  - " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n")
	}
	return b.String()
}
