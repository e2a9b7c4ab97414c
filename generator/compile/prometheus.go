package compile

import (
	"math"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// monitorJobs builds the jobs of monitors, as one of the two operators does.
type monitorJobs interface {
	ServiceMonitor(m *monitoringv1.ServiceMonitor, endpoint int, secrets scrape.Secrets) (*model.ScrapeConfig,
		diag.List)
	PodMonitor(m *monitoringv1.PodMonitor, endpoint int, secrets scrape.Secrets) (*model.ScrapeConfig, diag.List)
	Probe(m *monitoringv1.Probe, secrets scrape.Secrets) (*model.ScrapeConfig, diag.List)
}

var (
	_ monitorJobs = (*scrape.Builder)(nil)
	_ monitorJobs = (*scrape.Current)(nil)
)

// prometheus reads the fields that a GrafanaAgent shares with the Prometheus object. They have no effect in mode
// operator.
type prometheus struct {
	report  *reports
	agent   *manifest.Object
	spec    *v1alpha1.GrafanaAgentSpec
	current bool
	// clustered means that pods share targets among themselves.
	clustered bool
}

// settings returns the job settings.
func (p prometheus) settings() scrape.PrometheusSettings {
	spec := &p.spec.Metrics
	out := scrape.PrometheusSettings{
		Classes: spec.ScrapeClasses, PodTargetLabels: spec.PodTargetLabels, Excluded: spec.ExcludedFromEnforcement,
		Enforced: enforcedLimits(spec), Zones: len(p.zones()),
	}
	if spec.ServiceDiscoveryRole != nil {
		out.Role = *spec.ServiceDiscoveryRole
	}
	return out
}

// agentVersion matches versions of the agent.
var agentVersion = lazyregexp.New(`^v0\.(\d{1,3})\.(\d{1,3})$`)

// version warns of an agent with an older Prometheus than what is rendered is checked for. The agents v0.39.2 to v0.44
// have the same one.
func (p prometheus) version() diag.List {
	version, path := versionOf(p.spec)
	parts := agentVersion.FindStringSubmatch(version)
	if !p.current || parts == nil {
		return nil
	}
	minor, _ := strconv.Atoi(parts[1])
	patch, _ := strconv.Atoi(parts[2])
	if minor > 39 || minor == 39 && patch >= 2 {
		return nil
	}
	return diag.List{{Severity: diag.Warning, Code: diag.InvalidSetting, Path: path,
		Message: version + " has an older Prometheus than v0.39.2 and may refuse what was checked for v0.44.8: take " +
			"a newer agent, or compatibility: operator, which renders fewer fields"}}
}

// enforcedLimits returns the limits that no job may exceed.
func enforcedLimits(spec *v1alpha1.MetricsSubsystemSpec) model.Limits {
	signed := func(v *uint64) *int64 {
		if v == nil {
			return nil
		}
		return new(int64(min(*v, math.MaxInt64)))
	}
	return model.Limits{BodySize: string(spec.EnforcedBodySizeLimit), Counts: model.Counts{
		model.Samples: signed(spec.EnforcedSampleLimit), model.Targets: signed(spec.EnforcedTargetLimit),
		model.Labels:           spec.EnforcedLabelLimit,
		model.LabelNameLength:  spec.EnforcedLabelNameLengthLimit,
		model.LabelValueLength: spec.EnforcedLabelValueLengthLimit,
		model.KeptDropped:      spec.EnforcedKeepDroppedTargets,
	}}
}

// globalLimits returns the limits of jobs that set none, also of those that no monitor is behind.
func (p prometheus) globalLimits() model.Limits {
	spec := &p.spec.Metrics
	standard := model.Limits{Counts: model.Counts{
		model.Samples: spec.SampleLimit, model.Targets: spec.TargetLimit, model.Labels: spec.LabelLimit,
		model.LabelNameLength: spec.LabelNameLengthLimit, model.LabelValueLength: spec.LabelValueLengthLimit,
		model.KeptDropped: spec.KeepDroppedTargets,
	}}
	if spec.BodySizeLimit != nil {
		standard.BodySize = string(*spec.BodySizeLimit)
	}
	for _, f := range [...]struct {
		field, size string
	}{{"bodySizeLimit", standard.BodySize}, {"enforcedBodySizeLimit", string(spec.EnforcedBodySizeLimit)}} {
		if f.size != "" && !scrape.ValidSize(f.size) {
			p.report.about(p.agent, diag.InvalidSetting.At("spec.metrics."+f.field,
				"%q is not a size below 8EiB, like 512KB or 10MB", f.size))
		}
	}
	return scrape.GlobalLimits(standard, enforcedLimits(spec))
}

// zones returns the zones that shards are spread over, or nil.
func (p prometheus) zones() []string {
	s := p.spec.Metrics.ShardingStrategy
	if !p.current || s == nil || s.Topology == nil || s.Mode == nil ||
		*s.Mode != monitoringv1.TopologyShardingStrategyMode {
		return nil
	}
	return s.Topology.Values
}

// zoneLabel returns the external label that names the zone of a shard, or "".
func (p prometheus) zoneLabel() string {
	if p.zones() == nil {
		return ""
	}
	const path = "spec.metrics.shardingStrategy.topology.externalLabelName"
	name := orDefault(p.spec.Metrics.ShardingStrategy.Topology.ExternalLabelName, "zone")
	if name != "" {
		p.report.labelName(p.agent, path, name)
	}
	return name
}

// checkZones checks what the Prometheus Operator's CRD and Kubernetes demand of zones.
func (p prometheus) checkZones() {
	const path = "spec.metrics.shardingStrategy.topology"
	agent, s := p.agent, p.spec.Metrics.ShardingStrategy
	if p.current && s != nil && s.Topology != nil && p.zones() == nil &&
		(s.Mode == nil || *s.Mode != monitoringv1.TopologyShardingStrategyMode) {
		p.report.about(agent, diag.InvalidSetting.At(path, "is for the mode Topology only: write mode: Topology"))
	}
	zones, shards := p.zones(), Shards(p.spec)
	if p.clustered && zones != nil {
		p.report.about(agent, diag.NotInRuntime.At("spec.metrics.shardingStrategy",
			"with clustering, any pod may scrape a target, whatever its zone: write sharding: rules in the pipeline, "+
				"or leave the zones out"))
		return
	}
	if len(zones) > shards {
		p.report.about(agent, diag.InvalidSetting.At(path+".values",
			"%d zones need at least as many shards, and spec.metrics.shards is %d: nobody would scrape the others",
			len(zones), shards))
	}
	if n := len(zones); n > 0 && shards > n && shards%n > 0 {
		p.report.about(agent, diag.InvalidSetting.At(path+".values",
			"%d shards are not a multiple of %d zones: the shards from number %d on scrape nothing", shards, n,
			shards-shards%n).As(diag.Warning))
	}
	for i, zone := range zones {
		at := path + ".values[" + strconv.Itoa(i) + "]"
		if problems := validation.IsValidLabelValue(zone); zone == "" || len(problems) > 0 {
			p.report.about(agent, diag.InvalidSetting.At(at,
				"%q is not the name of a zone, which is the value of a node's label", zone))
		}
		if slices.Contains(zones[:i], zone) {
			p.report.about(agent, diag.InvalidSetting.At(at,
				"%q stands in the list twice: its targets would be scraped twice", zone))
		}
	}
}

// shard adds the rules of sharding to a hand-written job, unless it shards itself.
func (p prometheus) shard(raw *model.Raw) {
	shards := Shards(p.spec)
	if !p.current || shards == 1 || p.clustered {
		return
	}
	rules := raw.Child("relabel_configs")
	if rules == nil || !slices.ContainsFunc(rules.Content, isHashmod) {
		raw.Relabel = scrape.Sharding("__address__", shards, len(p.zones()))
	}
}

func isHashmod(rule *yaml.Node) bool {
	for i := 0; i+1 < len(rule.Content); i += 2 {
		if rule.Content[i].Value == "action" {
			return strings.EqualFold(rule.Content[i+1].Value, "hashmod")
		}
	}
	return false
}

// rulesLast moves the rules of a hand-written job to its end, where others can follow.
func rulesLast(job *yaml.Node) {
	for i := 0; i+1 < len(job.Content); i += 2 {
		if job.Content[i].Value == "relabel_configs" {
			key, rules := job.Content[i], job.Content[i+1]
			rules.Style &^= yaml.FlowStyle
			job.Content = slices.Delete(job.Content, i, i+2)
			if len(rules.Content) > 0 {
				job.Content = append(job.Content, key, rules)
			}
			return
		}
	}
}
