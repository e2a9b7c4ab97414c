// Package history is a model of what agentry does: people edit documents, rightly and wrongly, and passes render them
// to an output branch.
//
// It has the documents ([Doc]) with their faults, the edits of them ([Edit]) and an [Author] who makes them up. A
// [Model] says what the branch must look like after a pass: the files of each unit, the objects that are held, and the
// version of each that stands in. Its rules are written in words of documents, and share no code with what they check.
// Only units without a mistake are rendered, with [generator.Render].
//
// Two tests drive it: TestModel of gitsync makes many histories in memory, and the program test/soak follows few
// branches of real servers through faults.
package history

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Fault is an error of a document by itself.
type Fault int

// The faults.
const (
	Good       Fault = iota
	Broken           // no YAML
	Nameless         // an object whose identity cannot be known
	Invalid          // refused by the schema
	Unrendered       // refused when it is rendered: a bad regex, a content that is not a list of jobs
	faults
)

// Doc is one object of the inputs. It is comparable: equal Docs have equal texts.
type Doc struct {
	Kind, Namespace, Name string

	Rev       int // a good change; also the secret bytes, which are unique
	Fault     Fault
	Tier, Sel int // its label, and the label that it selects; 0 selects all

	Paused, Quick   bool // of a GrafanaAgent: quick scrapes every 5s
	Storage, Shards int
	Wide, WAL       bool   // of a MetricsInstance: wide looks into the namespaces of the team, WAL is truncated often
	Jobs            string // the Secret of its additionalScrapeConfigs
	Slow, Rare      bool   // of a ServiceMonitor: slow has a timeout of 10s and no interval, rare an interval of 55s
	CA              string // a ConfigMap
	Ref             string // the Secret of its basic authentication
	Inst            string // the MetricsInstance that an Integration writes to
	Addr            int    // the server that it asks
	Unique          bool
	NoKey           bool // of a Secret or ConfigMap
	Team            bool // of a Namespace
}

// ID is the identity of the object.
func (d Doc) ID() manifest.ID {
	return manifest.ID{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

// String names the fields that are set.
func (d Doc) String() string {
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
func (d Doc) readable() bool { return d.Fault == Good || d.Fault == Unrendered }

// hides tells whether the document may have defined anything.
func (d Doc) hides() bool { return d.Fault == Broken || d.Fault == Nameless }

// possible turns faults that objects of a kind cannot have into none.
func (d Doc) possible(f Fault) bool {
	switch d.Kind {
	case "Namespace":
		return f != Unrendered && f != Nameless
	case "ConfigMap", "ServiceAccount":
		return f != Unrendered
	}
	return true
}

// set changes one field. Every number is a valid value of every field.
func (d Doc) set(field string, n int) Doc {
	switch field {
	case "rev":
		d.Rev = n
	case "fault":
		if f := Fault(n % int(faults)); d.possible(f) {
			d.Fault = f
		}
	case "tier":
		d.Tier = n % 3
	case "sel":
		d.Sel = n % 3
	case "paused":
		d.Paused = n%2 == 1
	case "quick":
		d.Quick = n%2 == 1
	case "storage":
		d.Storage = n % 3
	case "shards":
		d.Shards = n % 3
	case "wide":
		d.Wide = n%2 == 1
	case "wal":
		d.WAL = n%2 == 1
	case "jobs":
		d.Jobs = []string{"", "jobs", "none"}[n%3]
	case "slow":
		d.Slow = n%2 == 1
	case "rare":
		d.Rare = n%2 == 1
	case "ca":
		d.CA = []string{"", "ca", "none"}[n%3]
	case "ref":
		d.Ref = []string{"", "s", "none"}[n%3]
	case "inst":
		d.Inst = []string{"", d.Namespace + "/main", d.Namespace + "/second"}[n%3]
	case "addr":
		d.Addr = n % 3
	case "unique":
		d.Unique = n%2 == 1
	case "nokey":
		d.NoKey = n%2 == 1
	case "team":
		d.Team = n%2 == 1
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

// Text writes the object with its fault. The comment makes texts differ wherever docs do.
func (d Doc) Text() string {
	meta := fmt.Sprintf("metadata: {name: %s, namespace: %s, labels: {tier: t%d}}\n", d.Name, d.Namespace, d.Tier)
	switch {
	case d.Kind == "Namespace" && d.Fault == Invalid:
		meta = fmt.Sprintf("metadata: {name: %s, labels: {team: no value!}}\n", d.Name)
	case d.Kind == "Namespace":
		meta = fmt.Sprintf("metadata: {name: %s, labels: {team: %q}}\n", d.Name, fmt.Sprint(d.Team))
	case d.Fault == Nameless:
		meta = fmt.Sprintf("metadata: {name: %s}\n", d.Name)
	}
	head := "# " + d.String() + "\napiVersion: " + d.apiVersion() + "\nkind: " + d.Kind + "\n" + meta
	switch d.Fault {
	case Broken:
		return head + "\t}{\n"
	case Invalid:
		return head + d.wrong()
	}
	return head + d.body()
}

func (d Doc) apiVersion() string {
	switch d.Kind {
	case "ServiceMonitor":
		return "monitoring.coreos.com/v1"
	case "GrafanaAgent", "MetricsInstance", "Integration":
		return "monitoring.grafana.com/v1alpha1"
	}
	return "v1"
}

// wrong is a body that the schema refuses.
func (d Doc) wrong() string {
	switch d.Kind {
	case "Namespace":
		return ""
	case "Secret", "ConfigMap":
		return "data: [no map]\n"
	case "ServiceAccount":
		return "secrets: no list\n"
	}
	return "spec: [no map]\n"
}

func (d Doc) body() string {
	switch d.Kind {
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
		return fmt.Sprintf("data: {%s: ca-%d}\n", d.key(), d.Rev)
	case "ServiceAccount":
		return fmt.Sprintf("imagePullSecrets: [{name: registry-%d}]\n", d.Rev)
	}
	return ""
}

func (d Doc) agent() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec:\n  paused: %v\n", d.Paused)
	if d.Storage > 0 {
		fmt.Fprintf(&b, "  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: %dGi}}}}}\n",
			d.Storage)
	}
	b.WriteString("  integrations: {selector: {}, namespaceSelector: {matchExpressions: [{key: " +
		"kubernetes.io/metadata.name, operator: In, values: [" + strings.Join(d.spaces(), ", ") + "]}]}}\n")
	fmt.Fprintf(&b, "  metrics:\n    instanceSelector: %s\n    externalLabels: {rev: %q}\n", d.selector(), d.value())
	if d.Shards > 0 {
		fmt.Fprintf(&b, "    shards: %d\n", d.Shards)
	}
	if d.Quick {
		b.WriteString("    scrapeInterval: 5s\n    scrapeTimeout: 5s\n")
	}
	return b.String()
}

// spaces are the namespaces in which a GrafanaAgent looks for Integrations.
func (d Doc) spaces() []string {
	if d.Namespace == "a" {
		return []string{"a", "c"}
	}
	return []string{d.Namespace}
}

// value is what changes in a GrafanaAgent.
func (d Doc) value() string {
	if d.Fault == Unrendered {
		return "${unfinished"
	}
	return fmt.Sprint(d.Rev)
}

func (d Doc) selector() string {
	if d.Sel == 0 {
		return "{}"
	}
	return fmt.Sprintf("{matchLabels: {tier: t%d}}", d.Sel)
}

func (d Doc) instance() string {
	var b strings.Builder
	b.WriteString("spec:\n  serviceMonitorSelector: " + d.selector() + "\n")
	if d.Wide {
		b.WriteString("  serviceMonitorNamespaceSelector: {matchLabels: {team: \"true\"}}\n")
	}
	if d.WAL {
		b.WriteString("  walTruncateFrequency: 50s\n")
	}
	if d.Jobs != "" {
		b.WriteString("  additionalScrapeConfigs: {name: " + d.Jobs + ", key: k}\n")
	}
	relabel := ""
	if d.Fault == Unrendered {
		relabel = ", writeRelabelConfigs: [{sourceLabels: [a], regex: \"(\"}]"
	}
	fmt.Fprintf(&b, "  remoteWrite: [{url: \"http://mimir/push/%d\"%s%s}]\n", d.Rev, d.auth(), relabel)
	return b.String()
}

// auth refers to a Secret.
func (d Doc) auth() string {
	if d.Ref == "" {
		return ""
	}
	return fmt.Sprintf(", basicAuth: {username: {name: %[1]s, key: k}, password: {name: %[1]s, key: k}}", d.Ref)
}

func (d Doc) monitor() string {
	times := ", interval: 15s"
	switch {
	case d.Slow:
		times = ", scrapeTimeout: 10s"
	case d.Rare:
		times = ", interval: 55s"
	}
	if d.CA != "" {
		times += ", tlsConfig: {ca: {configMap: {name: " + d.CA + ", key: k}}}"
	}
	if d.Fault == Unrendered {
		times += ", relabelings: [{sourceLabels: [a], regex: \"(\"}]"
	}
	return fmt.Sprintf("spec:\n  selector: {matchLabels: {app: x}}\n  endpoints: [{port: p%d%s%s}]\n", d.Rev, times,
		d.auth())
}

func (d Doc) integration() string {
	config := fmt.Sprintf("redis_addr: \"redis-%d:6379\", redis_user: rev-%d", d.Addr, d.Rev)
	if d.Inst != "" {
		config += ", autoscrape: {enable: true, metrics_instance: " + d.Inst + "}"
	}
	if d.Fault == Unrendered {
		config += ", no_such_field: 1"
	}
	files := ""
	if d.Ref != "" {
		files = "  secrets: [{name: " + d.Ref + ", key: k}]\n"
	}
	return fmt.Sprintf("spec:\n  name: redis\n  type: {unique: %v}\n%s  config: {%s}\n", d.Unique, files, config)
}

func (d Doc) key() string {
	if d.NoKey {
		return "other"
	}
	return "k"
}

// SecretBytes begin the values of Secrets with credentials; the number of the version follows.
const SecretBytes = "hunter-"

// secret holds credentials, or scrape configurations if it is called jobs.
func (d Doc) secret() string {
	switch {
	case d.Name == "jobs" && d.Fault == Unrendered:
		return "stringData: {" + d.key() + ": \"{no list}\"}\n"
	case d.Name == "jobs":
		return fmt.Sprintf("stringData: {%s: \"[{job_name: by-hand-%d, scrape_interval: 15s}]\"}\n", d.key(), d.Rev)
	case d.Fault == Unrendered: // no text, which cannot be written into a configuration
		return "data: {" + d.key() + ": /w==}\n"
	}
	return fmt.Sprintf("stringData: {%s: %s%d}\n", d.key(), SecretBytes, d.Rev)
}
