package build

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/build/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// The agent's own defaults for the WAL of an instance (agent v0.44.8).
const (
	defaultTruncate    = time.Hour
	defaultMinWALTime  = 5 * time.Minute
	defaultMaxWALTime  = 4 * time.Hour
	defaultFlushPeriod = time.Minute
)

func orDuration(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

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

// checkWAL checks the WAL settings of an instance against each other and returns its
// truncation frequency.
func (b *builder) checkWAL(o *manifest.Object, s *v1alpha1.MetricsInstanceSpec) time.Duration {
	truncate := b.positive(o, "spec.walTruncateFrequency", s.WALTruncateFrequency)
	b.positive(o, "spec.remoteFlushDeadline", s.RemoteFlushDeadline)
	lowest := orDuration(b.report.goDuration(o, "spec.minWALTime", s.MinWALTime), defaultMinWALTime)
	highest := orDuration(b.report.goDuration(o, "spec.maxWALTime", s.MaxWALTime), defaultMaxWALTime)
	if lowest > highest {
		b.report.error(o, diag.InvalidWALTimes, "spec.minWALTime", "minWALTime %s is longer than maxWALTime %s", prommodel.Duration(lowest), prommodel.Duration(highest))
	}
	return orDuration(truncate, defaultTruncate)
}

func (b *builder) positive(o *manifest.Object, path, value string) time.Duration {
	d := b.report.goDuration(o, path, value)
	if zero, err := time.ParseDuration(value); err == nil && zero <= 0 {
		b.report.error(o, diag.InvalidWALTimes, path, "must be above zero")
		return 0
	}
	return d
}

// checkTruncation refuses jobs that scrape more rarely than the WAL is truncated. Jobs
// without an interval of their own are the instance's or the GrafanaAgent's doing.
func (b *builder) checkTruncation(o, instance *manifest.Object, jobs []*model.ScrapeConfig, truncate time.Duration) {
	for i := range jobs {
		d, err := prommodel.ParseDuration(jobs[i].Interval)
		if every := time.Duration(d); err == nil && every > truncate {
			b.report.fail(o, diag.IntervalAboveWAL, intervalPath(o, i), fmt.Sprintf("job %s is scraped every %s, which is longer than the walTruncateFrequency %s of %s",
				jobs[i].JobName, prommodel.Duration(every), prommodel.Duration(truncate), instance.ID), instance.Ref())
		}
	}
}

func intervalPath(o *manifest.Object, i int) string {
	switch o.Kind {
	case "ServiceMonitor":
		return "spec.endpoints[" + strconv.Itoa(i) + "].interval"
	case "PodMonitor":
		return "spec.podMetricsEndpoints[" + strconv.Itoa(i) + "].interval"
	}
	return "spec.interval"
}

// checkNames refuses two writers of one name, and names writers that the agent could
// not tell apart: it compares unnamed ones with their secrets masked.
func (b *builder) checkNames(in secretref.Scope, path string, specs []v1alpha1.RemoteWriteSpec, list []model.RemoteWrite) {
	names := map[string]int{}
	masked := map[string][]int{}
	for i := range list {
		if name := list[i].Name; name != "" {
			if n, taken := names[name]; taken {
				b.report.error(in.Object(), diag.DuplicateRemoteWrite, path+"["+strconv.Itoa(i)+"].name", "%q is the name of %s[%d] too", name, path, n)
			}
			names[name] = i
			continue
		}
		text := maskedText(list[i])
		masked[text] = append(masked[text], i)
	}
	for _, text := range slices.Sorted(maps.Keys(masked)) {
		same := masked[text]
		for _, i := range same[1:] {
			if fullText(filled(list[i])) == fullText(filled(list[same[0]])) {
				b.report.error(in.Object(), diag.DuplicateRemoteWrite, path+"["+strconv.Itoa(i)+"]", "is equal to %s[%d]: every sample would be sent twice", path, same[0])
			}
		}
		for _, i := range same {
			if len(same) > 1 {
				list[i].Name = "agentry-" + strconv.Itoa(i)
			}
		}
	}
}

// checkDestinations warns of instances whose samples go nowhere.
func (b *builder) checkDestinations(m *model.Metrics) {
	if len(m.Global.RemoteWrite) > 0 {
		return
	}
	n := 0
	for _, instance := range b.hierarchy.Metrics {
		if b.left[instance.Object.ID] {
			continue
		}
		if len(m.Configs[n].RemoteWrite) == 0 {
			b.report.warn(instance.Object, diag.NoDestination, "spec.remoteWrite", "neither the MetricsInstance nor GrafanaAgent %s has a remoteWrite: samples go nowhere", b.hierarchy.Name())
		}
		n++
	}
}
