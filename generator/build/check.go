package build

import (
	"regexp"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/build/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
)

// globalInterval is the interval of jobs that have none. A bad one has been reported.
func (b *builder) globalInterval() time.Duration {
	d, err := prommodel.ParseDuration(b.spec.Metrics.ScrapeInterval)
	if err != nil || d == 0 {
		return scrape.DefaultInterval
	}
	return time.Duration(d)
}

var (
	logLevel  = regexp.MustCompile(`^(debug|info|warn|error)$`)
	logFormat = regexp.MustCompile(`^(logfmt|json)$`)
)

// checkAgent checks the settings of the GrafanaAgent that go into the configuration.
func (b *builder) checkAgent() {
	agent, m := b.hierarchy.Agent, &b.spec.Metrics
	b.report.duration(agent, "spec.metrics.scrapeInterval", m.ScrapeInterval)
	b.report.duration(agent, "spec.metrics.scrapeTimeout", m.ScrapeTimeout)
	if l := b.spec.LogLevel; l != "" && !logLevel.MatchString(l) {
		b.report.error(agent, diag.InvalidSetting, "spec.logLevel", "%q is none of debug, info, warn, error", l)
	}
	if f := b.spec.LogFormat; f != "" && !logFormat.MatchString(f) {
		b.report.warn(agent, diag.InvalidSetting, "spec.logFormat", "%q is none of logfmt, json: the agent takes it for logfmt", f)
	}
	if n := Shards(b.spec); n > MaxShards {
		b.report.error(agent, diag.InvalidSetting, "spec.metrics.shards", "%d StatefulSets are more than the %d that are rendered", n, MaxShards)
	}
	b.checkEnforced("spec.metrics.enforcedNamespaceLabel", m.EnforcedNamespaceLabel)
	b.checkEnforced("spec.logs.enforcedNamespaceLabel", b.spec.Logs.EnforcedNamespaceLabel)
}

func (b *builder) checkEnforced(path, label string) {
	if label != "" && !prommodel.LabelName(label).IsValidLegacy() {
		b.report.error(b.hierarchy.Agent, diag.InvalidRelabeling, path, "%q is not a label name", label)
	}
}
