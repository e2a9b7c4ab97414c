package scrape

import (
	"math"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/model"
)

// Settings are the GrafanaAgent's settings for all of its jobs (spec.metrics).
type Settings struct {
	Shards                   int  // at least 1
	Clustered                bool // the pods share the targets among themselves: no rules do
	OverrideHonorLabels      bool
	OverrideHonorTimestamps  bool
	IgnoreNamespaceSelectors bool
	// KeepEmptyTexts means that the rules of PodLogs keep texts that are written as "".
	KeepEmptyTexts         bool
	EnforcedNamespaceLabel string
	EnforcedSampleLimit    *uint64
	EnforcedTargetLimit    *uint64
	// APIServer is a template for service discovery: how the agent reaches the Kubernetes API. Each job sets
	// Role and Namespaces.
	APIServer model.KubernetesSD

	// Agent is the GrafanaAgent.
	Agent diag.Object
	// SD is how the jobs of IntegrationMonitors find their targets: see [SDAggregator.HTTPSD].
	SD model.HTTPSD
}

// Secrets resolves the references of one monitor in its namespace; path is the path of the reference in the
// monitor. Implementations report references that do not resolve to their creator.
type Secrets interface {
	// Value is for fields that the operator writes into the configuration as values.
	Value(path string, ref *corev1.SecretKeySelector) model.Secret
	// File is for fields that take the path of a mounted file. It returns nothing if ref is empty.
	File(path string, ref monitoringv1.SecretOrConfigMap) string
	// ValueOnly is for fields that cannot be given as a file.
	ValueOnly(path string, ref monitoringv1.SecretOrConfigMap) model.Secret
	// Known returns the content of a reference if the policy shows it, or nil. It reports nothing.
	Known(ref monitoringv1.SecretOrConfigMap) []byte
	// IsEmptyText reports whether the object is written with "" at path.
	IsEmptyText(path string) bool
	// LiteralsAllowed reports whether the policy allows credentials that are written in custom resources.
	LiteralsAllowed() bool
}

// Builder builds the jobs of one GrafanaAgent. It is not safe for concurrent use.
type Builder struct {
	settings  Settings
	rules     rules
	discovery discovery
	relabel   RelabelChecker
	repeated  *repeated
	capture   string // how rules write their first group
	attaches  bool   // targets can have the labels of their nodes
	known     map[targetsKey]*relabel.Labels
}

// NewBuilder returns a Builder. It builds the rules that all jobs share.
func NewBuilder(s Settings) *Builder {
	s.Shards = max(s.Shards, 1)
	b := &Builder{settings: s, rules: newRules(s.Shards), capture: "$1", known: map[targetsKey]*relabel.Labels{},
		repeated: &repeated{rules: map[ruleKey]*model.Relabel{}, sources: map[targetLabel]labelSources{}}}
	b.discovery = newDiscovery(&s, b.rules.shard)
	if s.Clustered {
		b.rules.shard, b.discovery.shard = nil, nil
	}
	return b
}

// job is one scrape job under construction.
type job struct {
	*Builder
	config  model.ScrapeConfig
	found   findings
	secrets Secrets
	path    string // the path of the endpoint, ending in a dot unless it is empty
	// labels is the result of [job.targets], once it was asked. Without the label needed, which is otherwise the
	// address, a target is dropped.
	labels *relabel.Labels
	needed string
}

func (j *job) add(r ...*model.Relabel) {
	j.config.Relabel = append(j.config.Relabel, r...)
}

// access returns the resolver of the job's credentials.
func (j *job) access() access { return access{secrets: j.secrets, path: j.path, found: &j.found} }

func (j *job) selectors() selectors {
	return selectors{repeated: j.repeated, regexes: &j.relabel, found: &j.found}
}

// selectLabels adds the rules of a selector over the labels of a service, pod or ingress (role).
func (j *job) selectLabels(role, path string, sel *metav1.LabelSelector) {
	s := &j.repeated.selected
	if s.of != sel {
		*s = targetRules{of: sel, rules: selecting(path, j.selectors().labels(role, path, sel))}
	}
	j.add(s.rules...)
}

// selecting returns rules as those of the selector that is written at a path.
func selecting(path string, rules []*model.Relabel) []*model.Relabel {
	for _, r := range rules {
		r.Written.Field = path
	}
	return rules
}

// keepPort adds the rule that keeps only the wanted port of a target. targetField is the field that target is from.
func (j *job) keepPort(portLabel, port string, target *intstr.IntOrString, targetField string) {
	label, value := wantedPort(portLabel, port, target)
	if value == "" {
		return
	}
	j.checkPort(label, port, value)
	field := targetField
	if port != "" {
		field = "port"
	}
	j.add(j.repeated.rule(ruleKey{field, label, value}, func() *model.Relabel {
		return &model.Relabel{SourceLabels: []string{metaPrefix + label}, Regex: model.Present(value),
			Action: "keep", Written: model.Written{Field: field, IsBelow: true}}
	}))
}

// kubernetes sets the job's service discovery. The monitor's selector decides which namespaces it watches,
// unless the GrafanaAgent ignores these selectors.
func (j *job) kubernetes(role, namespace string, sel monitoringv1.NamespaceSelector) {
	sd := j.settings.APIServer
	sd.Role = role
	switch {
	case j.settings.IgnoreNamespaceSelectors:
		sd.Namespaces = []string{namespace}
	case sel.Any:
	case len(sel.MatchNames) == 0:
		sd.Namespaces = []string{namespace}
	default:
		sd.Namespaces = sel.MatchNames
	}
	j.config.Kubernetes = &sd
}

// timing sets interval and timeout.
func (j *job) timing(interval, timeout monitoringv1.Duration) {
	j.config.Interval, j.config.Timeout = j.duration("interval", interval), j.duration("scrapeTimeout", timeout)
}

// duration returns a duration as it is written, and reports one that is none.
func (j *job) duration(field string, d monitoringv1.Duration) string {
	if d != "" {
		if _, err := prommodel.ParseDuration(string(d)); err != nil {
			j.found.Add(diag.InvalidDuration.At(j.path+field, "%q is not a duration, like 30s or 1m30s", d))
		}
	}
	return string(d)
}

// owner returns namespace/name of the GrafanaAgent.
func (s *Settings) owner() string { return s.Agent.Namespace + "/" + s.Agent.Name }

// limit returns a sample or target limit by the operator's rule: an enforced limit always wins, even 0, which
// removes the monitor's own (reference defect A1).
func limit(own *int64, enforced *uint64) *int64 {
	if enforced != nil {
		return new(Float64Int(int64(min(*enforced, math.MaxInt64))))
	}
	if own != nil && *own > 0 {
		return new(Float64Int(*own))
	}
	return nil
}

// Float64Int rounds an integer as the operator does: all its numbers pass through float64, so the last digits
// change from 2^53 on (reference defect A9).
func Float64Int(v int64) int64 {
	if f := float64(v); f < math.MaxInt64 {
		return int64(f)
	}
	return v
}

// endpointHTTP holds what endpoints of ServiceMonitors and PodMonitors share.
type endpointHTTP struct {
	honorLabels     bool
	honorTimestamps *bool
	path            string
	scheme          *monitoringv1.Scheme
	params          map[string][]string
	proxy           *string
	enableHTTP2     *bool
}

func (j *job) http(e endpointHTTP) {
	j.config.Switches[model.HonorLabels] = new(e.honorLabels && !j.settings.OverrideHonorLabels)
	j.config.Switches[model.HonorTimestamps] = e.honorTimestamps
	if j.settings.OverrideHonorTimestamps {
		j.config.Switches[model.HonorTimestamps] = new(false)
	}
	j.config.MetricsPath = e.path
	j.found.checkMetricsPath(j.path+"path", e.path)
	j.config.Scheme = scheme(e.scheme)
	j.config.Params = e.params
	if e.proxy != nil {
		j.config.ProxyURL = model.NonEmpty(*e.proxy)
		j.found.checkURL(j.path+"proxyUrl", *e.proxy)
	}
	if e.enableHTTP2 != nil && !*e.enableHTTP2 {
		j.config.EnableHTTP2 = e.enableHTTP2
	}
}

func scheme(s *monitoringv1.Scheme) string {
	if s == nil {
		return ""
	}
	return strings.ToLower(string(*s)) // today's CRDs accept HTTPS in capitals too
}

// bearer returns the token reference of an endpoint, or nil. The field is deprecated, but most monitors use it.
func bearer(c *monitoringv1.HTTPConfigWithoutTLS) *corev1.SecretKeySelector {
	if c.BearerTokenSecret == nil || c.BearerTokenSecret.Name == "" { //nolint:staticcheck // the operator renders it
		return nil
	}
	return c.BearerTokenSecret //nolint:staticcheck // the operator renders it
}
