package alloy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/model"
)

// Prometheus' own defaults for jobs.
const (
	defaultInterval = prommodel.Duration(time.Minute)
	defaultTimeout  = prommodel.Duration(10 * time.Second)
	defaultPath     = "/metrics"
	defaultScheme   = "http"
)

// timing is how often targets are scraped, in Prometheus' spelling.
type timing struct{ interval, timeout string }

// timings holds the timings of jobs by the global and the own settings. Few differ.
type timings map[[4]string]timing

// of returns the timing of jobs that set none.
func (c timings) of(global *model.Global) timing { return c.ofJob(global, &model.ScrapeConfig{}) }

// ofJob is [timingOfJob], read once.
func (c timings) ofJob(global *model.Global, job *model.ScrapeConfig) timing {
	key := [...]string{global.ScrapeInterval, global.ScrapeTimeout, job.Interval, job.Timeout}
	t, known := c[key]
	if !known {
		t = timingOfJob(global, job)
		c[key] = t
	}
	return t
}

// timingOfJob returns the timing of a job, by Prometheus' rules: a timeout that is not set is never longer than the
// interval.
func timingOfJob(global *model.Global, job *model.ScrapeConfig) timing {
	every := cmp.Or(duration(global.ScrapeInterval), defaultInterval)
	limit := cmp.Or(duration(global.ScrapeTimeout), min(defaultTimeout, every))
	every = cmp.Or(duration(job.Interval), every)
	limit = cmp.Or(duration(job.Timeout), min(limit, every))
	return timing{every.String(), limit.String()}
}

// duration returns a duration, or zero for one that is absent or invalid, which was reported.
func duration(text string) prommodel.Duration {
	d, err := prommodel.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// goDuration returns a duration as Alloy reads it, which knows no days. One that is absent or invalid stays absent.
func goDuration(text string) string {
	if _, err := time.ParseDuration(text); err == nil {
		return text
	}
	d := duration(text)
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
