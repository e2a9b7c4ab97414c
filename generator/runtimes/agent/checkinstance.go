package agent

import (
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/handwritten"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// defaultFlushPeriod is the agent's own default (agent v0.44.8).
const defaultFlushPeriod = time.Minute

// checkInstance compares the times of an instance, of its WAL and of its jobs.
func checkInstance(found *diag.List, c *model.Config, i *model.Instance) {
	truncate, about := instance.WAL(i)
	found.Add(about...)
	for _, job := range i.ScrapeConfigs {
		if every := instance.Interval(job.Interval); every > truncate {
			found.Add(job.Origin.Place(diag.IntervalAboveWAL.At(intervalField(job),
				"job %s is scraped every %s, which is longer than the walTruncateFrequency %s of %s",
				job.JobName, prommodel.Duration(every), prommodel.Duration(truncate), i.Origin.Object).
				With(i.Origin.Object)))
		}
		found.Add(instance.Timeout(c, job)...)
	}
	if every := instance.GlobalInterval(c); every > truncate &&
		slices.ContainsFunc(i.ScrapeConfigs, instance.WithoutInterval) {
		found.Add(i.Origin.Place(diag.IntervalAboveWAL.At(".walTruncateFrequency",
			"%s is shorter than the scrape interval %s of GrafanaAgent %s",
			prommodel.Duration(truncate), prommodel.Duration(every), nameOf(c.Origin.Object)).With(c.Origin.Object)))
	}
	found.Add(instance.HandWritten(handwritten.Metrics, c, i, truncate, c.KnownVersion)...)
}

// intervalField returns the field of a job's interval, below its origin.
func intervalField(job *model.ScrapeConfig) string {
	if job.Origin.Object.Kind == "ScrapeConfig" {
		return ".scrapeInterval"
	}
	return ".interval"
}

// nameOf returns namespace/name of an object.
func nameOf(o diag.Object) string { return o.Namespace + "/" + o.Name }
