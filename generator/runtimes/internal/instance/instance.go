// Package instance checks what every runtime refuses in the settings of an instance: times that contradict each other,
// and hand-written jobs that the agent's own format does not have. It also warns about samples that go nowhere.
package instance

import (
	"cmp"
	"fmt"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// The agent's own defaults for scraping and for the WAL of an instance (agent v0.44.8), which other runtimes are given.
const (
	defaultInterval   = time.Minute
	DefaultTruncate   = time.Hour
	DefaultMinWALTime = 5 * time.Minute
	DefaultMaxWALTime = 4 * time.Hour
)

// Timeout compares the timeout of a job with its interval: a runtime refuses the whole file for a longer one.
func Timeout(c *model.Config, job *model.ScrapeConfig) diag.List {
	timeout, every := Interval(job.Timeout), Interval(job.Interval)
	of, whose := "", []diag.Object(nil)
	if WithoutInterval(job) {
		every, of, whose = GlobalInterval(c), " of GrafanaAgent "+nameOf(c.Origin.Object),
			[]diag.Object{c.Origin.Object}
	}
	if timeout <= every || every <= 0 {
		return nil
	}
	return diag.List{job.Origin.Place(diag.TimeoutAboveInterval.At(".scrapeTimeout",
		"the timeout %s is longer than the scrape interval %s%s", job.Timeout, prommodel.Duration(every),
		of).With(whose...))}
}

// GlobalTimeout warns of a timeout for all jobs that is longer than their interval. Nothing is lost: a job without a
// timeout of its own has at most its interval then.
func GlobalTimeout(c *model.Config) diag.List {
	timeout, every := Interval(c.Metrics.Global.ScrapeTimeout), GlobalInterval(c)
	if timeout <= every {
		return nil
	}
	short := prommodel.Duration(every)
	f := c.Origin.Place(diag.TimeoutAboveInterval.At("spec.metrics.scrapeTimeout",
		"the timeout %s is longer than the scrape interval %s: a job that sets neither has the timeout %s",
		c.Metrics.Global.ScrapeTimeout, short, short).As(diag.Warning))
	f.Hint = fmt.Sprintf("set scrapeTimeout to %s or less, or a longer scrapeInterval", short)
	return diag.List{f}
}

// Interval returns the interval of a job, or zero if it is absent or invalid.
func Interval(text string) time.Duration {
	d, err := prommodel.ParseDuration(text)
	if err != nil {
		return 0
	}
	return time.Duration(d)
}

// GlobalInterval returns the interval of jobs that set none.
func GlobalInterval(c *model.Config) time.Duration {
	return cmp.Or(Interval(c.Metrics.Global.ScrapeInterval), defaultInterval)
}

// WithoutInterval reports whether a job has no interval of its own.
func WithoutInterval(job *model.ScrapeConfig) bool {
	d, err := prommodel.ParseDuration(job.Interval)
	return err == nil && d == 0 || job.Interval == ""
}

// WAL compares the WAL settings of an instance and returns its truncation frequency. Invalid times are ignored: they
// have been reported.
func WAL(i *model.Instance) (truncate time.Duration, found diag.List) {
	positive := func(field, value string) time.Duration {
		d, err := time.ParseDuration(value)
		if err == nil && d <= 0 {
			found = append(found, i.Origin.Place(diag.InvalidWALTimes.At(field, "must be above zero")))
			return 0
		}
		return d
	}
	truncate = positive(".walTruncateFrequency", i.WALTruncateFrequency)
	positive(".remoteFlushDeadline", i.RemoteFlushDeadline)
	lowest, highest := cmp.Or(GoDuration(i.MinWALTime), DefaultMinWALTime), cmp.Or(GoDuration(i.MaxWALTime),
		DefaultMaxWALTime)
	if lowest > highest {
		found = append(found, i.Origin.Place(diag.InvalidWALTimes.At(".minWALTime",
			"minWALTime %s is longer than maxWALTime %s", prommodel.Duration(lowest),
			prommodel.Duration(highest))))
	}
	return cmp.Or(truncate, DefaultTruncate), found
}

// GoDuration returns a duration that is parsed with Go's own parser, or zero if it is invalid.
func GoDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// Destinations warns about instances whose samples are sent nowhere.
func Destinations(c *model.Config) (found diag.List) {
	if len(c.Metrics.Global.RemoteWrite) > 0 {
		return nil
	}
	for i := range c.Metrics.Configs {
		if len(c.Metrics.Configs[i].RemoteWrite) == 0 {
			found = append(found, c.Metrics.Configs[i].Origin.Place(diag.NoDestination.At(".remoteWrite", "%s",
				"neither the MetricsInstance nor GrafanaAgent "+nameOf(c.Origin.Object)+
					" has a remoteWrite: samples go nowhere")))
		}
	}
	return found
}

// nameOf returns namespace/name of an object.
func nameOf(o diag.Object) string { return o.Namespace + "/" + o.Name }
