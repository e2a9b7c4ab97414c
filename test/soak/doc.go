package main

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fault is an error in an object.
type fault int

const (
	good       fault = iota
	broken           // no YAML
	nameless         // an object without a namespace
	invalid          // refused by the schema
	unrendered       // refused by the renderer
	without          // a Secret or ConfigMap without the key that others refer to
	faults
)

// secretBytes begin every value of a Secret; the number of its version follows.
const secretBytes = "hunter-"

// doc is one object of the inputs. It is comparable.
type doc struct {
	kind, ns, name string
	rev            int
	fault          fault
	tier           string // the label that GrafanaAgents and MetricsInstances select by
	paused         bool   // of a GrafanaAgent
	shards         int
	slow           bool // of a ServiceMonitor: less often than others
}

func (d doc) id() manifest.ID {
	return manifest.ID{Kind: d.kind, Namespace: d.ns, Name: d.name}
}

func (d doc) String() string { return d.id().String() }

// can reports whether objects of the kind can have a fault.
func (d doc) can(f fault) bool {
	switch f {
	case unrendered:
		return d.kind != "Secret" && d.kind != "ConfigMap"
	case without:
		return d.kind == "Secret" || d.kind == "ConfigMap"
	}
	return true
}

// text returns the manifest of the object, with its fault.
func (d doc) text() string {
	meta := fmt.Sprintf("metadata: {name: %s, namespace: %s, labels: {tier: %q}}\n", d.name, d.ns, d.tier)
	if d.fault == nameless {
		meta = fmt.Sprintf("metadata: {name: %s}\n", d.name)
	}
	head := "apiVersion: " + d.apiVersion() + "\nkind: " + d.kind + "\n" + meta
	switch d.fault {
	case broken:
		return head + "\t}{\n"
	case invalid:
		return head + d.wrong()
	}
	return head + d.body()
}

func (d doc) apiVersion() string {
	switch d.kind {
	case "ServiceMonitor":
		return "monitoring.coreos.com/v1"
	case "Secret", "ConfigMap":
		return "v1"
	}
	return "monitoring.grafana.com/v1alpha1"
}

// wrong returns a body that the schema refuses.
func (d doc) wrong() string {
	if d.kind == "Secret" || d.kind == "ConfigMap" {
		return "data: [no map]\n"
	}
	return "spec: [no map]\n"
}

func (d doc) body() string {
	switch d.kind {
	case "GrafanaAgent":
		return d.agent()
	case "MetricsInstance":
		return d.instance()
	case "ServiceMonitor":
		return d.monitor()
	case "Integration":
		return d.integration()
	case "Secret":
		return fmt.Sprintf("stringData: {%s: %s%d}\n", d.key(), secretBytes, d.rev)
	}
	return fmt.Sprintf("data: {%s: ca-%d}\n", d.key(), d.rev)
}

func (d doc) key() string {
	if d.fault == without {
		return "other"
	}
	return "k"
}

func (d doc) agent() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec:\n  paused: %v\n", d.paused)
	value := fmt.Sprint(d.rev)
	if d.fault == unrendered {
		value = "${unfinished"
	}
	if d.name == mainAgent {
		b.WriteString("  integrations: {selector: {}, namespaceSelector: {}}\n")
	}
	fmt.Fprintf(&b, "  metrics:\n    instanceSelector: {matchLabels: {tier: %q}}\n    externalLabels: {rev: %q}\n",
		d.tier, value)
	if d.shards > 1 {
		fmt.Fprintf(&b, "    shards: %d\n", d.shards)
	}
	return b.String()
}

func (d doc) instance() string {
	relabel := ""
	if d.fault == unrendered {
		relabel = ", writeRelabelConfigs: [{sourceLabels: [a], regex: \"(\"}]"
	}
	return "spec:\n  serviceMonitorSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [none]}]}\n" +
		"  serviceMonitorNamespaceSelector: {}\n" +
		fmt.Sprintf("  remoteWrite: [{url: \"http://mimir/push/%d\", %s%s}]\n", d.rev, basicAuth, relabel)
}

// basicAuth refers to the Secret in the namespace of the GrafanaAgents.
const basicAuth = "basicAuth: {username: {name: login, key: k}, password: {name: login, key: k}}"

func (d doc) monitor() string {
	more := ", interval: 15s"
	if d.slow {
		more = ", interval: 60s"
	}
	if d.ns == agentSpace && d.name != "plain" {
		more += ", " + basicAuth + ", tlsConfig: {ca: {configMap: {name: ca, key: k}}}"
	}
	if d.fault == unrendered {
		more += ", relabelings: [{sourceLabels: [a], regex: \"(\"}]"
	}
	return fmt.Sprintf("spec:\n  selector: {matchLabels: {app: x}}\n  endpoints: [{port: p%d%s}]\n", d.rev, more)
}

func (d doc) integration() string {
	config := fmt.Sprintf("redis_addr: \"%s:6379\", redis_user: rev-%d", d.name, d.rev)
	if d.fault == unrendered {
		config += ", no_such_field: 1"
	}
	return fmt.Sprintf("spec:\n  name: redis\n  type: {unique: false}\n  config: {%s}\n", config)
}
