// Package selfmonitoring makes objects that monitor the pods of a GrafanaAgent: a PrometheusRule with alerts, and a
// ConfigMap with a dashboard for Grafana. They use only metrics that the runtime's program exports
// ([runtimes.OwnMetrics]), and cover only workloads that are rendered.
//
// Both rely on the labels namespace and pod, which every PodMonitor and ServiceMonitor gives to series. Nothing here
// scrapes the pods: that takes a PodMonitor in the inputs.
package selfmonitoring

import (
	_ "embed" // for the alerts
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Settings choose the rendered objects. Nil renders nothing.
type Settings struct {
	// Alerts renders a PrometheusRule for each GrafanaAgent. Default: none.
	Alerts *Alerts `json:"alerts,omitempty"`
	// Dashboard renders a ConfigMap with a dashboard for each GrafanaAgent. Default: none.
	Dashboard *Dashboard `json:"dashboard,omitempty"`
}

// Alerts are the settings of the PrometheusRules.
type Alerts struct {
	// Labels are the labels of the PrometheusRules, by which a Prometheus or a ruler selects them. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// AlertLabels are added to each alert, and override `severity`. Default: none.
	AlertLabels map[string]string `json:"alertLabels,omitempty"`
	// Disabled are the names of alerts to leave out. Default: none.
	Disabled []string `json:"disabled,omitempty"`
}

// Dashboard are the settings of the ConfigMaps with dashboards.
type Dashboard struct {
	// Labels are the labels of the ConfigMaps, by which Grafana's sidecar finds them. Default: `grafana_dashboard:
	// "1"`.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are the annotations of the ConfigMaps, such as the one for a folder in Grafana. Default: none.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SidecarLabels are the default labels of dashboards.
func SidecarLabels() map[string]string { return map[string]string{"grafana_dashboard": "1"} }

// Agent describes the GrafanaAgent that is monitored.
type Agent struct {
	// Namespace and Name are the GrafanaAgent's.
	Namespace, Name string
	// Metrics are the metrics that its pods export.
	Metrics runtimes.OwnMetrics
	// Workloads are all of its workloads.
	Workloads []Workload
}

// Workload is a workload, or the StatefulSets of all shards.
type Workload struct {
	// Pods is a regular expression for the names of its pods.
	Pods string
	// Metrics and Logs mean that the pods run instances of metrics or of logs.
	Metrics, Logs bool
}

// StatefulSets returns a regular expression for the pods of the shards of a GrafanaAgent.
func StatefulSets(name string) string { return regexp.QuoteMeta(name) + "(-shard-[0-9]+)?-[0-9]+" }

// DaemonSet returns a regular expression for the pods of a DaemonSet.
func DaemonSet(name string) string { return regexp.QuoteMeta(name) + "-[a-z0-9]{5}" }

// Deployment returns a regular expression for the pods of a Deployment. Kubernetes cuts names of more than 63
// characters, before the last five.
func Deployment(name string) string {
	const kept = 46 // at least these stay, before the hash of the ReplicaSet
	if len(name) > kept {
		return regexp.QuoteMeta(name[:kept]) + "[a-z0-9.-]+"
	}
	return regexp.QuoteMeta(name) + "-[a-z0-9]+-[a-z0-9]{5}"
}

// selector returns the label matchers for the series of all pods, of pods with metrics or of pods with logs. It is
// empty if there are none.
func (a Agent) selector(of string) string {
	var pods []string
	for _, w := range a.Workloads {
		if of == "all" || of == "metrics" && w.Metrics || of == "logs" && w.Logs {
			pods = append(pods, w.Pods)
		}
	}
	if len(pods) == 0 {
		return ""
	}
	return fmt.Sprintf("namespace=%q,pod=~%s", a.Namespace, strconv.Quote(strings.Join(pods, "|")))
}

// fill replaces the placeholders in a text. It returns false if the program does not export a metric.
func (a Agent) fill(text, selector string) (string, bool) {
	ok := true
	set := func(name, value string) {
		if strings.Contains(text, name) {
			ok = ok && value != ""
			text = strings.ReplaceAll(text, name, value)
		}
	}
	var failures []string
	for _, name := range a.Metrics.WALFailures {
		failures = append(failures, "sum by (namespace, pod) (increase("+name+"{$SELECTOR}[15m])) > 0")
	}
	set("$WALFAILURES", strings.Join(failures, "\nor "))
	set("$LOADED", a.Metrics.Loaded)
	set("$APPENDED", a.Metrics.Appended)
	set("$SERIES", a.Metrics.Series)
	set("$SENT", a.Metrics.SentEntries)
	set("$DROPPED", a.Metrics.DroppedEntries)
	set("$SELECTOR", selector)
	set("$AGENT", a.Namespace+"/"+a.Name)
	return text, ok
}

//go:embed alerts.yaml
var alertsText []byte

// alert is an item of alerts.yaml.
type alert struct {
	Of, Alert, Expr, For, Severity, Summary, Description string
}

func alerts() []alert {
	var list []alert
	if err := yaml.UnmarshalStrict(alertsText, &list); err != nil {
		return nil // unreachable: tests read it
	}
	return list
}

// AlertNames returns the names of all alerts.
func AlertNames() (out []string) {
	for _, a := range alerts() {
		out = append(out, a.Alert)
	}
	return out
}

// Rules returns the alerts about the pods of a GrafanaAgent.
func (s *Alerts) Rules(a Agent) monitoringv1.PrometheusRuleSpec {
	group := monitoringv1.RuleGroup{Name: "grafana-agent-" + a.Namespace + "-" + a.Name}
	for _, item := range alerts() {
		selector := a.selector(item.Of)
		expr, ok := a.fill(item.Expr, selector)
		if !ok || slices.Contains(s.Disabled, item.Alert) {
			continue
		}
		summary, _ := a.fill(item.Summary, selector)
		rule := monitoringv1.Rule{
			Alert: item.Alert, Expr: intstr.FromString(expr), Labels: map[string]string{"severity": item.Severity},
			Annotations: map[string]string{"summary": summary, "description": item.Description},
		}
		if item.For != "" {
			rule.For = new(monitoringv1.Duration(item.For))
		}
		maps.Copy(rule.Labels, s.AlertLabels)
		group.Rules = append(group.Rules, rule)
	}
	return monitoringv1.PrometheusRuleSpec{Groups: []monitoringv1.RuleGroup{group}}
}
