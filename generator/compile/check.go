package compile

import (
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// globalInterval returns the interval of jobs that set none. An invalid one was reported elsewhere.
func globalInterval(spec *v1alpha1.GrafanaAgentSpec) time.Duration {
	d, err := prommodel.ParseDuration(spec.Metrics.ScrapeInterval)
	if err != nil || d == 0 {
		return time.Minute // the agent's default
	}
	return time.Duration(d)
}

var (
	logLevel  = lazyregexp.New(`^(debug|info|warn|error)$`)
	logFormat = lazyregexp.New(`^(logfmt|json)$`)
)

// checkAgent checks the settings of a GrafanaAgent that are rendered into the configuration.
func checkAgent(report *reports, agent *manifest.Object) {
	spec := &manifest.As[v1alpha1.GrafanaAgent](agent).Spec
	m := &spec.Metrics
	report.duration(agent, "spec.metrics.scrapeInterval", m.ScrapeInterval)
	report.duration(agent, "spec.metrics.scrapeTimeout", m.ScrapeTimeout)
	if l := spec.LogLevel; l != "" && !logLevel.MatchString(l) {
		report.about(agent, diag.InvalidSetting.At("spec.logLevel", "%q is not one of debug, info, warn, error", l))
	}
	if f := spec.LogFormat; f != "" && !logFormat.MatchString(f) {
		report.about(agent, diag.InvalidSetting.At("spec.logFormat",
			"%q is not one of logfmt, json: the agent takes it for logfmt", f).As(diag.Warning))
	}
	if n := Shards(spec); n > MaxShards {
		report.about(agent, diag.InvalidSetting.At("spec.metrics.shards",
			"%d StatefulSets are more than the %d that are rendered", n, MaxShards))
	}
	for _, f := range [...]struct {
		path string
		set  *int32
		as   string
	}{{"spec.metrics.replicas", m.Replicas, "0: no pods run"}, {"spec.metrics.shards", m.Shards, "1"}} {
		if f.set != nil && *f.set < 0 {
			report.about(agent, diag.InvalidSetting.At(f.path, "%d counts as %s", *f.set, f.as).As(diag.Warning))
		}
	}
	for _, f := range [...]struct{ path, label string }{
		{"spec.metrics.enforcedNamespaceLabel", m.EnforcedNamespaceLabel},
		{"spec.logs.enforcedNamespaceLabel", spec.Logs.EnforcedNamespaceLabel},
	} {
		if f.label != "" && !prommodel.LabelName(f.label).IsValidLegacy() {
			report.about(agent, diag.InvalidRelabeling.At(f.path, "%q is not a label name", f.label))
		}
	}
}
