package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// The agent's own defaults for scraping and for the WAL of an instance (agent v0.44.8).
const (
	defaultInterval    = time.Minute
	defaultTruncate    = time.Hour
	defaultMinWALTime  = 5 * time.Minute
	defaultMaxWALTime  = 4 * time.Hour
	defaultFlushPeriod = time.Minute
)

// checkInstance compares the times of an instance, of its WAL and of its jobs.
func checkInstance(found *findings, c *model.Config, i *model.Instance) {
	truncate := checkWAL(found, i)
	for _, job := range i.ScrapeConfigs {
		if every := interval(job.Interval); every > truncate {
			found.add(job.Origin.Find(diag.Error, diag.IntervalAboveWAL, intervalField(job), fmt.Sprintf("job %s is scraped every %s, which is longer than the walTruncateFrequency %s of %s",
				job.JobName, prommodel.Duration(every), prommodel.Duration(truncate), i.Origin.Object), i.Origin.Object))
		}
		checkTimeout(found, c, job)
	}
	if every := globalInterval(c); every > truncate && slices.ContainsFunc(i.ScrapeConfigs, func(job *model.ScrapeConfig) bool { return withoutInterval(job) }) {
		found.add(i.Origin.Find(diag.Error, diag.IntervalAboveWAL, ".walTruncateFrequency", fmt.Sprintf("%s is shorter than the scrape interval %s of GrafanaAgent %s",
			prommodel.Duration(truncate), prommodel.Duration(every), nameOf(c.Origin.Object)), c.Origin.Object))
	}
	checkHandWritten(found, c, i, truncate)
}

// checkTimeout compares the timeout of a job with its interval: the agent refuses the whole file for a longer one.
func checkTimeout(found *findings, c *model.Config, job *model.ScrapeConfig) {
	timeout, every := interval(job.Timeout), interval(job.Interval)
	of, whose := "", []diag.Object(nil)
	if withoutInterval(job) {
		every, of, whose = globalInterval(c), " of GrafanaAgent "+nameOf(c.Origin.Object), []diag.Object{c.Origin.Object}
	}
	if timeout > every && every > 0 {
		found.add(job.Origin.Find(diag.Error, diag.TimeoutAboveInterval, ".scrapeTimeout",
			fmt.Sprintf("the timeout %s is longer than the scrape interval %s%s", job.Timeout, prommodel.Duration(every), of), whose...))
	}
}

// intervalField returns the field of a job's interval, below its origin.
func intervalField(job *model.ScrapeConfig) string {
	if job.Origin.Object.Kind == "ScrapeConfig" {
		return ".scrapeInterval"
	}
	return ".interval"
}

// interval returns the interval of a job, or zero if it is absent or invalid.
func interval(text string) time.Duration {
	d, err := prommodel.ParseDuration(text)
	if err != nil {
		return 0
	}
	return time.Duration(d)
}

// globalInterval returns the interval of jobs that set none.
func globalInterval(c *model.Config) time.Duration {
	return cmp.Or(interval(c.Metrics.Global.ScrapeInterval), defaultInterval)
}

func withoutInterval(job *model.ScrapeConfig) bool {
	d, err := prommodel.ParseDuration(job.Interval)
	return err == nil && d == 0 || job.Interval == ""
}

// checkWAL compares the WAL settings of an instance and returns its truncation frequency. Invalid times are ignored:
// they have been reported.
func checkWAL(found *findings, i *model.Instance) time.Duration {
	positive := func(field, value string) time.Duration {
		d, err := time.ParseDuration(value)
		if err == nil && d <= 0 {
			found.add(i.Origin.Find(diag.Error, diag.InvalidWALTimes, field, "must be above zero"))
			return 0
		}
		return d
	}
	truncate := positive(".walTruncateFrequency", i.WALTruncateFrequency)
	positive(".remoteFlushDeadline", i.RemoteFlushDeadline)
	lowest, highest := cmp.Or(goDuration(i.MinWALTime), defaultMinWALTime), cmp.Or(goDuration(i.MaxWALTime), defaultMaxWALTime)
	if lowest > highest {
		found.add(i.Origin.Find(diag.Error, diag.InvalidWALTimes, ".minWALTime",
			fmt.Sprintf("minWALTime %s is longer than maxWALTime %s", prommodel.Duration(lowest), prommodel.Duration(highest))))
	}
	return cmp.Or(truncate, defaultTruncate)
}

// goDuration returns a duration that the agent parses with Go's own parser, or zero if it is invalid.
func goDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// checkDestinations warns about instances whose samples are sent nowhere.
func checkDestinations(found *findings, c *model.Config, m *model.Metrics) {
	if len(m.Global.RemoteWrite) > 0 {
		return
	}
	for i := range m.Configs {
		if len(m.Configs[i].RemoteWrite) == 0 {
			found.add(m.Configs[i].Origin.Find(diag.Warning, diag.NoDestination, ".remoteWrite",
				"neither the MetricsInstance nor GrafanaAgent "+nameOf(c.Origin.Object)+" has a remoteWrite: samples go nowhere"))
		}
	}
}

// nameOf returns namespace/name of an object.
func nameOf(o diag.Object) string { return o.Namespace + "/" + o.Name }
