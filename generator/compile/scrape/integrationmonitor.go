package scrape

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Labels of the targets of MetricsIntegrations: the object that they come from (set by the pods' configuration)
// and its GrafanaAgent (added by the sd-aggregator).
const (
	crPrefix       = "__meta_agentoperator_integration_cr_"
	crNamespace    = crPrefix + "namespace"
	crName         = crPrefix + "name"
	crLabel        = crPrefix + "label_"
	crLabelPresent = crPrefix + "labelpresent_"
	ownerNamespace = "__meta_agentoperator_grafanaagent_namespace"
	ownerName      = "__meta_agentoperator_grafanaagent_name"
)

// discovery holds the discoveries and rules that the jobs of all IntegrationMonitors share. It is never changed.
type discovery struct {
	// own lists the targets of this GrafanaAgent, all the targets of every GrafanaAgent. Prometheus sends one request
	// for all jobs with equal settings.
	own, all *model.HTTPSD
	marked   *model.Relabel // keeps the targets of MetricsIntegrations
	owned    *model.Relabel // keeps the targets of this GrafanaAgent
	instance *model.Relabel
	cluster  *model.Relabel
	shard    []*model.Relabel
}

func newDiscovery(s *Settings, shard []*model.Relabel) discovery {
	own, all := s.SD, s.SD
	all.Everyone = true
	// A slash needs no escaping in a query, and names contain nothing that does.
	own.URL += "?" + sdParameter + "=" + s.owner()
	owner := []string{ownerNamespace, ownerName}
	hash := *shard[0]
	hash.SourceLabels = []string{"__address__", "__metrics_path__"} // all targets of a pod have the same address
	return discovery{
		own: &own, all: &all,
		marked: &model.Relabel{SourceLabels: []string{crName}, Regex: model.Present(".+"), Action: "keep"},
		owned: &model.Relabel{SourceLabels: owner, Separator: model.Present("/"),
			Regex: model.Present(anyOf(s.owner())), Action: "keep"},
		instance: &model.Relabel{SourceLabels: []string{crNamespace, crName}, Separator: model.Present("/"),
			TargetLabel: "instance"},
		cluster: &model.Relabel{SourceLabels: owner, Separator: model.Present("/"), TargetLabel: "cluster"},
		shard:   append([]*model.Relabel{&hash}, shard[1:]...),
	}
}

// IntegrationMonitor returns the job that scrapes the MetricsIntegrations that the monitor selects. instance is
// namespace/name of the MetricsInstance that runs it.
func (b *Builder) IntegrationMonitor(m *v1alpha1.IntegrationMonitor, instance string,
	secrets Secrets) (*model.ScrapeConfig, diag.List) {
	spec := &m.Spec
	key := m.Namespace + "/" + m.Name
	all := spec.Scope == v1alpha1.ScopeAll
	j := &job{Builder: b, secrets: secrets, path: "spec."}
	j.config.JobName = "integrationMonitor/" + key
	j.config.Relabel = make([]*model.Relabel, 0, baseRules)
	j.integrationHTTP(spec)
	j.timing(spec.Interval, spec.ScrapeTimeout)
	j.integrationLimits(spec)

	j.config.HTTP = b.discovery.all
	j.add(b.discovery.marked)
	if !all {
		j.config.HTTP = b.discovery.own
		j.add(b.discovery.owned)
	}
	if r := integrationNamespaces(&j.found, m.Namespace, spec.NamespaceSelector,
		b.settings.IgnoreNamespaceSelectors); r != nil {
		j.add(r)
	}
	j.add(selecting("spec.selector", integrationSelector(&j.found, "spec.selector", &spec.Selector))...)
	j.integrationLabels(spec.TargetLabels, all)
	if j.config.Scheme != "" { // a target's own scheme would override the job's
		j.add(&model.Relabel{TargetLabel: "__scheme__", Replacement: model.Present(j.config.Scheme)})
	}
	j.integrationRules(spec.RelabelConfigs, all)
	constant := func(label, value string) {
		j.add(&model.Relabel{TargetLabel: label, Replacement: model.Present(value)})
	}
	j.add(b.discovery.instance)
	constant("monitor", key)
	constant("metrics_instance", instance)
	if all {
		j.add(b.discovery.cluster)
	}
	j.enforceNamespace(m.Namespace)
	j.add(b.discovery.shard...)
	for i := range spec.MetricRelabelConfigs {
		j.metricRule(i, WrittenRelabel(&spec.MetricRelabelConfigs[i]))
	}
	return &j.config, j.found.List
}

// integrationHTTP sets how targets are scraped.
func (j *job) integrationHTTP(spec *v1alpha1.IntegrationMonitorSpec) {
	e := endpointHTTP{honorLabels: spec.HonorLabels, honorTimestamps: spec.HonorTimestamps}
	if spec.Scheme != "" {
		e.scheme = new(monitoringv1.Scheme(spec.Scheme))
	}
	if spec.ProxyURL != "" {
		e.proxy = &spec.ProxyURL
	}
	j.http(e)
	j.config.HTTPAuth = j.access().credentials(spec.BasicAuth, spec.Authorization, spec.OAuth2)
	j.config.TLS = j.access().ownTLS(spec.TLSConfig)
}

// integrationLimits sets the limits. Zero means no limit, as in Prometheus.
func (j *job) integrationLimits(spec *v1alpha1.IntegrationMonitorSpec) {
	positive := func(v *int64) *int64 {
		if v == nil || *v <= 0 {
			return nil
		}
		return v
	}
	j.config.Counts[model.Samples] = limit(spec.SampleLimit, j.settings.EnforcedSampleLimit)
	j.config.Counts[model.Targets] = limit(spec.TargetLimit, j.settings.EnforcedTargetLimit)
	j.config.Counts[model.Labels] = positive(spec.LabelLimit)
	j.config.Counts[model.LabelNameLength] = positive(spec.LabelNameLengthLimit)
	j.config.Counts[model.LabelValueLength] = positive(spec.LabelValueLengthLimit)
	if spec.BodySizeLimit == nil || *spec.BodySizeLimit == "" {
		return
	}
	j.config.BodySize = string(*spec.BodySizeLimit)
	if !ValidSize(j.config.BodySize) {
		j.found.Add(diag.InvalidSetting.At("spec.bodySizeLimit", "%q is not a size below 8EiB, like 512KB or 10MB",
			j.config.BodySize))
	}
}

// integrationLabels copies labels of the MetricsIntegrations onto their metrics.
func (j *job) integrationLabels(names []string, all bool) {
	for i, name := range names {
		path := "spec.targetLabels[" + strconv.Itoa(i) + "]"
		label := model.LabelName(name)
		r := &model.Relabel{SourceLabels: []string{crLabel + label}, Regex: model.Present("(.+)"), TargetLabel: label}
		switch {
		case label == "" || label[0] >= '0' && label[0] <= '9':
			j.found.Add(diag.InvalidRelabeling.At(path, "%q makes the label name %q, which the agent refuses", name,
				label))
		case !j.reserved(path, r, all):
			j.add(r)
		}
	}
}

// integrationRules adds the rules that the monitor's author wrote, in order.
func (j *job) integrationRules(rules []v1alpha1.RelabelConfig, all bool) {
	for i := range rules {
		r := WrittenRelabel(&rules[i])
		r.Written = model.Written{Field: "spec.relabelings", Item: i + 1}
		j.checkTarget(r, "relabelings", i)
		if !j.reserved("spec.relabelings["+strconv.Itoa(i)+"].targetLabel", r, all) {
			j.add(r)
		}
	}
}

// reserved reports a rule that sets a reserved label to a fixed value. It returns true if the rule must be left
// out: job is the agent's own label, all others are overwritten later.
func (j *job) reserved(path string, r *model.Relabel, all bool) bool {
	if !slices.Contains([]string{"", "replace", "hashmod", "lowercase", "uppercase"}, r.Action) {
		return false
	}
	switch label := r.TargetLabel; {
	case label == "job":
		j.found.Add(diag.ReservedLabel.At(path,
			"the rule is left out: the label job is always integrations/<exporter>"))
		return true
	case label == "instance", label == "monitor", label == "metrics_instance", label == "cluster" && all:
		j.found.Add(diag.ReservedLabel.At(path, "the label %s is overwritten: it says what was scraped, and by whom",
			label))
	}
	return false
}

// Selectors over MetricsIntegrations become relabelling rules with the meaning that they have in Kubernetes:
// equality needs the label to exist, and values are not regular expressions.

// present is the value of the labels that say that an object has a label.
const present = "true"

// anyOf returns a regular expression that matches one of the texts, in their order.
func anyOf(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = regexp.QuoteMeta(s)
	}
	return strings.Join(quoted, "|")
}

// group puts an expression in brackets if it has several alternatives.
func group(expr string, alternatives int) string {
	if alternatives == 1 {
		return expr
	}
	return "(?:" + expr + ")"
}

// integrationNamespaces returns the rule that keeps the targets of the namespaces that a monitor selects, or
// nil for all. If the GrafanaAgent ignores its selector (ignored), this is its own namespace.
func integrationNamespaces(found *findings, own string, sel monitoringv1.NamespaceSelector,
	ignored bool) *model.Relabel {
	names := sel.MatchNames
	switch {
	case ignored:
		names = []string{own}
	case sel.Any:
		return nil
	case len(names) == 0:
		names = []string{own}
	}
	for i, name := range sel.MatchNames {
		if len(validation.IsDNS1123Label(name)) > 0 {
			found.Add(diag.InvalidSelector.At("spec.namespaceSelector.matchNames["+strconv.Itoa(i)+"]",
				"%q is not the name of a namespace", name))
		}
	}
	return &model.Relabel{SourceLabels: []string{crNamespace}, Regex: model.Present(anyOf(names...)), Action: "keep"}
}

// integrationSelector returns the rules that keep the targets of the selected MetricsIntegrations.
func integrationSelector(found *findings, path string, sel *metav1.LabelSelector) (out []*model.Relabel) {
	add := func(path, key string, operator selection.Operator, values []string) {
		r, err := requirement(key, operator, values)
		if err != nil {
			found.Add(diag.InvalidSelector.At(path, "%v", err))
			return
		}
		out = append(out, r)
	}
	for _, key := range sortedKeys(sel.MatchLabels) {
		add(path+".matchLabels["+key+"]", key, selection.In, []string{sel.MatchLabels[key]})
	}
	for i, e := range sel.MatchExpressions {
		at := path + ".matchExpressions[" + strconv.Itoa(i) + "]"
		operator, known := map[metav1.LabelSelectorOperator]selection.Operator{
			metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
			metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
		}[e.Operator]
		if !known {
			found.Add(diag.InvalidSelector.At(at+".operator",
				"%q is not an operator: use In, NotIn, Exists or DoesNotExist", e.Operator))
			continue
		}
		add(at, e.Key, operator, e.Values)
	}
	return out
}

func requirement(key string, operator selection.Operator, values []string) (*model.Relabel, error) {
	if _, err := labels.NewRequirement(key, operator, values); err != nil {
		return nil, err
	}
	label := model.LabelName(key)
	r := &model.Relabel{SourceLabels: []string{crLabelPresent + label}, Regex: model.Present(present), Action: "keep"}
	if operator == selection.In || operator == selection.NotIn {
		// Labels contain no semicolon, so it can separate the two.
		r.SourceLabels = []string{crLabel + label, crLabelPresent + label}
		r.Regex = model.Present(group(anyOf(values...), len(values)) + ";" + present)
	}
	if operator == selection.NotIn || operator == selection.DoesNotExist {
		r.Action = "drop"
	}
	return r, nil
}
