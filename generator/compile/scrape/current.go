package scrape

import (
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// PrometheusSettings are the settings that the Prometheus object has and the agent operator had not (spec.metrics).
type PrometheusSettings struct {
	Classes         []monitoringv1.ScrapeClass
	PodTargetLabels []string
	// Role is the default discovery role of ServiceMonitors.
	Role monitoringv1.ServiceDiscoveryRole
	// Excluded are the monitors that the enforced namespace label does not concern.
	Excluded []monitoringv1.ObjectReference
	// Enforced are the limits that no job may exceed.
	Enforced model.Limits
	// Zones is the number of zones that the shards are spread over, or 0.
	Zones int
}

// Current builds the jobs of one GrafanaAgent as today's Prometheus Operator does (compatibility mode current). It is
// not safe for concurrent use.
type Current struct {
	*Builder
	prometheus PrometheusSettings
	shared     currentRules
	classes    map[string]*class
	// standard is the class of monitors that name none. It can be empty.
	standard *class
}

// NewCurrent returns a builder, and findings about the GrafanaAgent's scrape classes. Their references are resolved by
// secrets.
func NewCurrent(s Settings, p PrometheusSettings, secrets Secrets) (*Current, diag.List) {
	c := &Current{Builder: NewBuilder(s), prometheus: p, classes: map[string]*class{}, standard: &class{}}
	c.capture, c.attaches = "${1}", true
	c.shared = newCurrentRules(c.settings.Shards, p.Zones)
	if s.Clustered {
		c.shared.shard, c.shared.shardProbes = nil, nil
	}
	var found findings
	c.readClasses(&found, secrets)
	copied := job{Builder: c.Builder}
	copied.copyLabels("pod", "spec.metrics.podTargetLabels", p.PodTargetLabels)
	c.shared.podLabels = copied.config.Relabel
	found.Add(copied.found.List...)
	return c, found.List
}

// currentJob is one scrape job under construction.
type currentJob struct {
	job
	current  *Current
	class    *class
	monitor  *metav1.ObjectMeta
	resource string // the monitor's kind as excludedFromEnforcement names it
}

// newJob begins a job with the rule that keeps its name.
func (c *Current) newJob(name, path string, monitor *metav1.ObjectMeta, resource string, className *string,
	secrets Secrets) *currentJob {
	j := &currentJob{job: job{Builder: c.Builder, secrets: secrets, path: path}, current: c, monitor: monitor,
		resource: resource}
	j.config.JobName, j.config.Origin.Path = name, strings.TrimSuffix(path, ".")
	j.config.Relabel = make([]*model.Relabel, 0, baseRules)
	j.add(c.Builder.rules.jobName)
	j.class = c.classNamed(&j.found, className)
	return j
}

// finish adds the rules that end every job: the rules of its class, and then those that end adds.
func (j *currentJob) finish(field string, rules, metricRules []monitoringv1.RelabelConfig, shard []*model.Relabel) {
	j.add(j.class.relabel...)
	j.end(field, rules, metricRules, shard)
}

// end adds the monitor's rules, the enforced namespace and the sharding.
func (j *currentJob) end(field string, rules, metricRules []monitoringv1.RelabelConfig, shard []*model.Relabel) {
	j.currentRules(field, rules)
	enforced := j.enforced()
	if enforced != nil {
		j.add(enforced)
	}
	j.add(shard...)
	j.config.MetricRelabel = append(j.config.MetricRelabel, j.class.metricRelabel...)
	for i := range metricRules {
		r := asCurrent(&metricRules[i])
		r.Written = samplesItem(i)
		keepEmptyRegex(r, j.secrets, j.path+"metricRelabelings["+strconv.Itoa(i)+"]")
		j.checkSample(r, i)
		j.config.MetricRelabel = append(j.config.MetricRelabel, r)
	}
	if enforced != nil {
		j.config.MetricRelabel = append(j.config.MetricRelabel, enforced)
	}
}

// currentRules adds the rules that the monitor's author wrote, in order.
func (j *currentJob) currentRules(field string, rules []monitoringv1.RelabelConfig) {
	for i := range rules {
		r := asCurrent(&rules[i])
		r.Written = model.Written{Field: field, IsBelow: true, Item: i + 1}
		keepEmptyRegex(r, j.secrets, j.path+field+"["+strconv.Itoa(i)+"]")
		j.checkTarget(r, field, i)
		j.add(r)
	}
}

// enforced returns the rule that sets the namespace label, or nil. Users cannot change the label, because it is the
// last rule of targets and of samples.
func (j *currentJob) enforced() *model.Relabel {
	label := j.settings.EnforcedNamespaceLabel
	if label == "" {
		return nil
	}
	for _, e := range j.current.prometheus.Excluded {
		if e.Resource == j.resource && e.Namespace == j.monitor.Namespace &&
			(e.Name == "" || e.Name == j.monitor.Name) {
			return nil
		}
	}
	return &model.Relabel{TargetLabel: label, Replacement: model.Present(j.monitor.Namespace)}
}

// attach sets whether targets get the labels of their nodes. Zones need them.
func (j *currentJob) attach(own *monitoringv1.AttachMetadata) {
	if own == nil {
		own = j.class.spec.AttachMetadata
	}
	if own == nil && j.current.prometheus.Zones == 0 {
		return
	}
	j.config.Kubernetes.AttachNode = new(j.current.prometheus.Zones > 0 || own.Node != nil && *own.Node)
}

// selectTargets adds the monitor's selector: as rules on the labels of what (service, pod or ingress), or as selectors
// of the discovery of roles.
func (j *currentJob) selectTargets(what string, sel *metav1.LabelSelector, mechanism *monitoringv1.SelectorMechanism,
	roles ...string) {
	s := &j.repeated.selected
	if s.of != sel {
		*s = targetRules{of: sel, rules: selecting(selectorPath(what), j.repeated.presentLabels(what, sel)),
			valid: j.repeated.valid(what, sel)}
	}
	if !s.valid {
		j.found.badSelector(selectorPath(what), sel)
		return
	}
	if mechanism == nil || *mechanism != monitoringv1.SelectorMechanismRole {
		j.add(s.rules...)
		return
	}
	if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
		return
	}
	text := metav1.FormatLabelSelector(sel)
	for _, role := range roles {
		j.config.Kubernetes.Selectors = append(j.config.Kubernetes.Selectors,
			model.RoleSelector{Role: role, Label: text})
	}
}
