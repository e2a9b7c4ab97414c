package gitsync_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fault is what is wrong with a document by itself.
type fault int

const (
	good       fault = iota
	broken           // no YAML
	nameless         // an object whose identity cannot be known
	invalid          // refused by the schema
	unrendered       // refused when it is rendered: a bad regex, a content that is not a list of jobs
)

// doc is one object of the input. It is comparable: equal docs have equal texts.
type doc struct {
	kind, ns, name string
	rev            int // a good change; also the secret bytes, which are unique
	fault          fault
	tier, sel      int // its label, and which label it selects; 0 selects all

	paused, quick   bool // of a GrafanaAgent: quick scrapes every 5s
	storage, shards int
	wide, wal       bool   // of a MetricsInstance: wide looks into the namespaces of the team, wal is truncated often
	jobs            string // the Secret of its additionalScrapeConfigs
	slow, rare      bool   // of a ServiceMonitor: slow has a timeout of 10s and no interval, rare an interval of 55s
	ca              string // a ConfigMap
	ref             string // the Secret of its basic authentication
	inst            string // the MetricsInstance that an Integration writes to
	addr            int    // what it asks
	unique          bool
	nokey           bool // of a Secret or ConfigMap
	team            bool // of a Namespace
}

func (d doc) id() manifest.ID {
	return manifest.ID{Kind: d.kind, Namespace: d.ns, Name: d.name}
}

// String names the fields that are set.
func (d doc) String() string {
	var b strings.Builder
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fmt.Fprintf(&b, " %s:%v", v.Type().Field(i).Name, f)
		}
	}
	return "{" + strings.TrimSpace(b.String()) + "}"
}

// readable tells whether the document can be read as an object.
func (d doc) readable() bool { return d.fault == good || d.fault == unrendered }

// hides tells whether the document may have defined anything.
func (d doc) hides() bool { return d.fault == broken || d.fault == nameless }

// possible turns faults that objects of a kind cannot have into none.
func (d doc) possible(f fault) bool {
	switch d.kind {
	case "Namespace":
		return f != unrendered && f != nameless
	case "ConfigMap", "ServiceAccount":
		return f != unrendered
	}
	return true
}

// set changes one field. Every number is a valid value of every field.
func (d doc) set(field string, n int) doc {
	switch field {
	case "rev":
		d.rev = n
	case "fault":
		if f := fault(n % 5); d.possible(f) {
			d.fault = f
		}
	case "tier":
		d.tier = n % 3
	case "sel":
		d.sel = n % 3
	case "paused":
		d.paused = n%2 == 1
	case "quick":
		d.quick = n%2 == 1
	case "storage":
		d.storage = n % 3
	case "shards":
		d.shards = n % 3
	case "wide":
		d.wide = n%2 == 1
	case "wal":
		d.wal = n%2 == 1
	case "jobs":
		d.jobs = []string{"", "jobs", "none"}[n%3]
	case "slow":
		d.slow = n%2 == 1
	case "rare":
		d.rare = n%2 == 1
	case "ca":
		d.ca = []string{"", "ca", "none"}[n%3]
	case "ref":
		d.ref = []string{"", "s", "none"}[n%3]
	case "inst":
		d.inst = []string{"", d.ns + "/main", d.ns + "/second"}[n%3]
	case "addr":
		d.addr = n % 3
	case "unique":
		d.unique = n%2 == 1
	case "nokey":
		d.nokey = n%2 == 1
	case "team":
		d.team = n%2 == 1
	}
	return d
}

// fields are those that change the text of an object of a kind, the common ones first.
var fields = map[string][]string{
	"GrafanaAgent":    {"rev", "fault", "sel", "paused", "quick", "storage", "shards"},
	"MetricsInstance": {"rev", "fault", "tier", "sel", "wide", "wal", "jobs", "ref"},
	"ServiceMonitor":  {"rev", "fault", "tier", "slow", "rare", "ca", "ref"},
	"Integration":     {"rev", "fault", "inst", "addr", "unique", "ref"},
	"Secret":          {"rev", "fault", "nokey"},
	"ConfigMap":       {"rev", "fault", "nokey"},
	"ServiceAccount":  {"rev", "fault"}, // is passed through
	"Namespace":       {"team", "fault"},
}

// text writes the object with its fault. The comment makes texts differ wherever docs do.
func (d doc) text() string {
	meta := fmt.Sprintf("metadata: {name: %s, namespace: %s, labels: {tier: t%d}}\n", d.name, d.ns, d.tier)
	switch {
	case d.kind == "Namespace" && d.fault == invalid:
		meta = fmt.Sprintf("metadata: {name: %s, labels: {team: no value!}}\n", d.name)
	case d.kind == "Namespace":
		meta = fmt.Sprintf("metadata: {name: %s, labels: {team: %q}}\n", d.name, fmt.Sprint(d.team))
	case d.fault == nameless:
		meta = fmt.Sprintf("metadata: {name: %s}\n", d.name)
	}
	head := "# " + d.String() + "\napiVersion: " + d.apiVersion() + "\nkind: " + d.kind + "\n" + meta
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
	case "GrafanaAgent", "MetricsInstance", "Integration":
		return "monitoring.grafana.com/v1alpha1"
	}
	return "v1"
}

// wrong is a body that the schema refuses.
func (d doc) wrong() string {
	switch d.kind {
	case "Namespace":
		return ""
	case "Secret", "ConfigMap":
		return "data: [no map]\n"
	case "ServiceAccount":
		return "secrets: no list\n"
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
		return d.secret()
	case "ConfigMap":
		return fmt.Sprintf("data: {%s: ca-%d}\n", d.key(), d.rev)
	case "ServiceAccount":
		return fmt.Sprintf("imagePullSecrets: [{name: registry-%d}]\n", d.rev)
	}
	return ""
}

func (d doc) agent() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec:\n  paused: %v\n", d.paused)
	if d.storage > 0 {
		fmt.Fprintf(&b, "  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: %dGi}}}}}\n",
			d.storage)
	}
	b.WriteString("  integrations: {selector: {}, namespaceSelector: {matchExpressions: [{key: " +
		"kubernetes.io/metadata.name, operator: In, values: [" + strings.Join(d.spaces(), ", ") + "]}]}}\n")
	fmt.Fprintf(&b, "  metrics:\n    instanceSelector: %s\n    externalLabels: {rev: %q}\n", d.selector(), d.value())
	if d.shards > 0 {
		fmt.Fprintf(&b, "    shards: %d\n", d.shards)
	}
	if d.quick {
		b.WriteString("    scrapeInterval: 5s\n    scrapeTimeout: 5s\n")
	}
	return b.String()
}

// spaces are the namespaces in which a GrafanaAgent looks for Integrations.
func (d doc) spaces() []string {
	if d.ns == "a" {
		return []string{"a", "c"}
	}
	return []string{d.ns}
}

// value is what changes in a GrafanaAgent.
func (d doc) value() string {
	if d.fault == unrendered {
		return "${unfinished"
	}
	return fmt.Sprint(d.rev)
}

func (d doc) selector() string {
	if d.sel == 0 {
		return "{}"
	}
	return fmt.Sprintf("{matchLabels: {tier: t%d}}", d.sel)
}

func (d doc) instance() string {
	var b strings.Builder
	b.WriteString("spec:\n  serviceMonitorSelector: " + d.selector() + "\n")
	if d.wide {
		b.WriteString("  serviceMonitorNamespaceSelector: {matchLabels: {team: \"true\"}}\n")
	}
	if d.wal {
		b.WriteString("  walTruncateFrequency: 50s\n")
	}
	if d.jobs != "" {
		b.WriteString("  additionalScrapeConfigs: {name: " + d.jobs + ", key: k}\n")
	}
	relabel := ""
	if d.fault == unrendered {
		relabel = ", writeRelabelConfigs: [{sourceLabels: [a], regex: \"(\"}]"
	}
	fmt.Fprintf(&b, "  remoteWrite: [{url: \"http://mimir/push/%d\"%s%s}]\n", d.rev, d.auth(), relabel)
	return b.String()
}

// auth refers to a Secret.
func (d doc) auth() string {
	if d.ref == "" {
		return ""
	}
	return fmt.Sprintf(", basicAuth: {username: {name: %[1]s, key: k}, password: {name: %[1]s, key: k}}", d.ref)
}

func (d doc) monitor() string {
	times := ", interval: 15s"
	switch {
	case d.slow:
		times = ", scrapeTimeout: 10s"
	case d.rare:
		times = ", interval: 55s"
	}
	if d.ca != "" {
		times += ", tlsConfig: {ca: {configMap: {name: " + d.ca + ", key: k}}}"
	}
	if d.fault == unrendered {
		times += ", relabelings: [{sourceLabels: [a], regex: \"(\"}]"
	}
	return fmt.Sprintf("spec:\n  selector: {matchLabels: {app: x}}\n  endpoints: [{port: p%d%s%s}]\n", d.rev, times,
		d.auth())
}

func (d doc) integration() string {
	config := fmt.Sprintf("redis_addr: \"redis-%d:6379\", redis_user: rev-%d", d.addr, d.rev)
	if d.inst != "" {
		config += ", autoscrape: {enable: true, metrics_instance: " + d.inst + "}"
	}
	if d.fault == unrendered {
		config += ", no_such_field: 1"
	}
	files := ""
	if d.ref != "" {
		files = "  secrets: [{name: " + d.ref + ", key: k}]\n"
	}
	return fmt.Sprintf("spec:\n  name: redis\n  type: {unique: %v}\n%s  config: {%s}\n", d.unique, files, config)
}

func (d doc) key() string {
	if d.nokey {
		return "other"
	}
	return "k"
}

// secretBytes are in what a Secret holds that is none of configuration; the number behind
// them is that of its version.
const secretBytes = "hunter-"

// secret holds credentials, or scrape configurations if it is called jobs.
func (d doc) secret() string {
	switch {
	case d.name == "jobs" && d.fault == unrendered:
		return "stringData: {" + d.key() + ": \"{no list}\"}\n"
	case d.name == "jobs":
		return fmt.Sprintf("stringData: {%s: \"[{job_name: by-hand-%d, scrape_interval: 15s}]\"}\n", d.key(), d.rev)
	case d.fault == unrendered: // no text, which cannot be written into a configuration
		return "data: {" + d.key() + ": /w==}\n"
	}
	return fmt.Sprintf("stringData: {%s: %s%d}\n", d.key(), secretBytes, d.rev)
}
