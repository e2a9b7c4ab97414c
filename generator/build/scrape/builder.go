package scrape

import (
	"fmt"
	"math"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Settings are what a GrafanaAgent decides for all of its jobs (GrafanaAgent.spec.metrics).
type Settings struct {
	Shards                   int // at least 1
	OverrideHonorLabels      bool
	OverrideHonorTimestamps  bool
	IgnoreNamespaceSelectors bool
	EnforcedNamespaceLabel   string
	EnforcedSampleLimit      *uint64
	EnforcedTargetLimit      *uint64
	// Interval is used by jobs that have none, in the file's own spelling; the agent's
	// default is 1m.
	Interval time.Duration
	// APIServer is a prototype: how the agent reaches the Kubernetes API. Its Role and
	// Namespaces are filled in for each job.
	APIServer model.KubernetesSD

	// Agent is the GrafanaAgent.
	Agent diag.Object
	// SD is how the jobs of IntegrationMonitors find their targets: see [SDAggregator.HTTPSD].
	SD model.HTTPSD
}

// DefaultInterval is the agent's scrape interval where none is set.
const DefaultInterval = time.Minute

// Secrets resolves the references of one monitor, in its namespace. A path says where
// in the monitor the reference stands. The caller learns of unresolvable references
// from the implementation.
type Secrets interface {
	// Value is for fields whose content the operator writes into the configuration.
	Value(path string, ref *corev1.SecretKeySelector) model.Secret
	// File is for fields that take the path of a mounted file; empty when ref is.
	File(path string, ref monitoringv1.SecretOrConfigMap) string
	// ValueOnly is for fields that take no file.
	ValueOnly(path string, ref monitoringv1.SecretOrConfigMap) model.Secret
}

// Builder makes the jobs of one GrafanaAgent. It is not safe for concurrent use.
type Builder struct {
	settings  Settings
	rules     rules
	discovery discovery
	relabel   RelabelChecker
}

// NewBuilder returns a Builder; it precomputes the rules that all jobs share.
func NewBuilder(s Settings) *Builder {
	s.Shards = max(s.Shards, 1)
	if s.Interval == 0 {
		s.Interval = DefaultInterval
	}
	b := &Builder{settings: s, rules: newRules(s.Shards)}
	b.discovery = newDiscovery(&s, b.rules.shard)
	return b
}

// job is one scrape job under construction.
type job struct {
	*Builder
	config  model.ScrapeConfig
	found   findings
	secrets Secrets
	path    string // of the endpoint, ending in a dot unless it is empty
}

// owner is namespace/name of the GrafanaAgent.
func (s *Settings) owner() string { return s.Agent.Namespace + "/" + s.Agent.Name }

func (j *job) add(r ...*model.Relabel) {
	j.config.Relabel = append(j.config.Relabel, r...)
}

// access resolves the credentials of the job.
func (j *job) access() access { return access{secrets: j.secrets, path: j.path, found: &j.found} }

func (j *job) selectors() selectors { return selectors{regexes: &j.relabel, found: &j.found} }

// keepPort adds the rule that keeps only the wanted port of a target.
func (j *job) keepPort(portLabel, port string, target *intstr.IntOrString) {
	if r := j.selectors().port(j.path, portLabel, port, target); r != nil {
		j.add(r)
	}
}

// kubernetes sets the job's service discovery. Which namespaces it looks in is decided
// by the monitor, unless the GrafanaAgent ignores its wish.
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

// timing sets interval and timeout. The agent refuses a file in which a job's timeout
// exceeds its interval. Zero is as good as absent.
func (j *job) timing(interval, timeout monitoringv1.Duration) {
	j.config.Interval, j.config.Timeout = string(interval), string(timeout)
	every, whose := j.settings.Interval, []diag.Object{j.settings.Agent}
	if interval != "" {
		d, err := prommodel.ParseDuration(string(interval))
		if err != nil {
			j.found.report(diag.Error, diag.InvalidDuration, j.path+"interval", "%q is not a duration, like 30s or 1m30s", interval)
			return
		}
		if d > 0 {
			every, whose = time.Duration(d), nil
		}
	}
	if timeout == "" {
		return
	}
	d, err := prommodel.ParseDuration(string(timeout))
	switch {
	case err != nil:
		j.found.report(diag.Error, diag.InvalidDuration, j.path+"scrapeTimeout", "%q is not a duration, like 10s", timeout)
	case time.Duration(d) > every:
		message := fmt.Sprintf("the timeout %s is longer than the scrape interval %s", timeout, prommodel.Duration(every))
		if whose != nil {
			message += " of GrafanaAgent " + j.settings.owner()
		}
		j.found.fail(diag.TimeoutAboveInterval, j.path+"scrapeTimeout", message, whose...)
	}
}

// limit is the operator's rule for sample and target limits: an enforced limit always
// wins, even one of 0, which lifts the monitor's own (reference defect A1).
func limit(own *int64, enforced *uint64) *int64 {
	if enforced != nil {
		v := Float64Int(int64(min(*enforced, math.MaxInt64)))
		return &v
	}
	if own != nil && *own > 0 {
		v := Float64Int(*own)
		return &v
	}
	return nil
}

// Float64Int rounds an integer as the operator does, whose numbers all pass through
// floating point: from 2^53 on the last digits change (reference defect A9).
func Float64Int(v int64) int64 {
	if f := float64(v); f < math.MaxInt64 {
		return int64(f)
	}
	return v
}
