package gitsync_test

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fault is what is wrong with a document.
type fault int

const (
	good       fault = iota
	broken           // no YAML
	invalid          // refused by the schema
	nameless         // an object whose identity cannot be known
	unrendered       // refused when it is rendered
)

// doc is one object of the input.
type doc struct {
	kind, namespace, name string
	variant               int // changes what is rendered
	paused                bool
	label                 bool // of a Namespace
	fault                 fault
}

func (d doc) id() manifest.ID {
	if d.kind == "Namespace" {
		return manifest.ID{Kind: d.kind, Name: d.name}
	}
	return manifest.ID{Kind: d.kind, Namespace: d.namespace, Name: d.name}
}

// text writes the object with its fault.
func (d doc) text() string {
	meta := fmt.Sprintf("metadata: {name: %s, namespace: %s}\n", d.name, d.namespace)
	if d.kind == "Namespace" {
		meta = fmt.Sprintf("metadata: {name: %s, labels: {team: %q}}\n", d.name, fmt.Sprint(d.label))
	}
	if d.fault == nameless {
		meta = fmt.Sprintf("metadata: {name: %s}\n", d.name)
	}
	if d.fault == broken {
		return "kind: " + d.kind + "\n" + meta + "\t}{\n"
	}
	wrong := func(text string) string {
		if d.fault == invalid {
			return "  - not a map\n"
		}
		return text
	}
	switch d.kind {
	case "GrafanaAgent":
		return "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" + meta + "spec:\n" +
			wrong(fmt.Sprintf("  paused: %v\n  logLevel: %s\n  metrics: {instanceSelector: {}}\n", d.paused, []string{"info", "debug"}[d.variant%2]))
	case "MetricsInstance":
		user := ""
		if d.variant%2 == 1 {
			user = ", basicAuth: {username: {name: s, key: k}, password: {name: s, key: k}}"
		}
		return "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" + meta + "spec:\n" +
			wrong("  serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {matchLabels: {team: \"true\"}}\n"+
				fmt.Sprintf("  remoteWrite: [{url: \"http://mimir/push/%d\"%s}]\n", d.variant, user))
	case "ServiceMonitor":
		times := ""
		if d.fault == unrendered {
			times = ", interval: 1s, scrapeTimeout: 2s"
		}
		return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" + meta + "spec:\n" +
			wrong(fmt.Sprintf("  selector: {matchLabels: {app: x}}\n  endpoints: [{port: p%d%s}]\n", d.variant, times))
	case "Secret":
		return "apiVersion: v1\nkind: Secret\n" + meta + "stringData:\n" + wrong(fmt.Sprintf("  k: hunter%d\n", d.variant))
	}
	return "apiVersion: v1\nkind: " + d.kind + "\n" + meta
}
