// Package telemetry reports passes as metrics, and as traces if a collector is configured.
//
// [Passes] keeps the last pass of each pipeline and is a [prometheus.Collector]: a service registers it, a command
// writes it to a file. The number of series is limited by the pipelines, their sources, their units and the kinds of
// objects that agentry reads. No metric has the name of an object in a label, and none contains a byte of a Secret.
package telemetry

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Pass is the outcome of one pass of a pipeline.
type Pass struct {
	Pipeline string
	Report   *gitsync.Report
	// Failed means that a repository could not be read or written, or that the configuration is invalid. Then the
	// report is incomplete.
	Failed bool
	Ended  time.Time
	Took   time.Duration
	// Folders means that the pipeline only generates pipelines from folders (forEach): it renders nothing, and makes a
	// pass only when its source changes.
	Folders bool
}

// Passes has the last pass of each pipeline. It is safe for concurrent use.
type Passes struct {
	mu   sync.Mutex
	last map[string]outcome
	good map[string]*summary // the last pass that did not fail
}

// outcome is the kept part of a pass. The report itself has everything that was rendered.
type outcome struct {
	failed  bool
	ended   time.Time
	took    time.Duration
	folders bool
}

var _ prometheus.Collector = (*Passes)(nil)

// NewPasses returns a collector without a pass.
func NewPasses() *Passes {
	return &Passes{last: map[string]outcome{}, good: map[string]*summary{}}
}

// Observe records a pass. A failed pass keeps the results of the previous one.
func (p *Passes) Observe(pass Pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[pass.Pipeline] = outcome{pass.Failed, pass.Ended, pass.Took, pass.Folders}
	if !pass.Failed {
		p.good[pass.Pipeline] = summarise(pass.Report)
	}
}

// Forget drops a pipeline that was removed or that another replica runs.
func (p *Passes) Forget(pipeline string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, pipeline)
	delete(p.good, pipeline)
}

// WriteFile writes the metrics to a file for the textfile collector of node_exporter. It replaces the file
// atomically.
func (p *Passes) WriteFile(name string) error {
	registry := prometheus.NewRegistry()
	if err := registry.Register(p); err != nil {
		return err
	}
	return prometheus.WriteToTextfile(name, registry)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("agentry_"+name, help, append([]string{"pipeline"}, labels...), nil)
}

// descriptions are the descriptions of the metrics.
type descriptions struct {
	ended, took, success, ready, findings, units, files, held, since, source, stale *prometheus.Desc
}

func described() descriptions {
	return descriptions{
		ended: describe("last_pass_timestamp_seconds",
			"When the last pass ended. Worry when it is older than a few intervals: nothing is rendered any longer."),
		took: describe("last_pass_duration_seconds",
			"How long the last pass took. Worry when it comes near the interval."),
		success: describe("last_pass_success",
			"Whether the last pass succeeded, 0 or 1: it reached the repositories, and the configuration is valid. "+
				"Worry when it stays 0."),
		ready: describe("ready", "Whether the output branch matches the inputs, 0 or 1. It is 0 while "+
			"anything is held, refused or has an error. Worry when it stays 0."),
		findings: describe("findings",
			"Errors and warnings of the last good pass. Worry about errors: agentry check shows them.", "severity"),
		units: describe("units", "Units (GrafanaAgents, and objects passed through to a namespace) by what the "+
			"last good pass did with their folders: unchanged, added, changed, removed, held (kept because of an "+
			"error), paused, leftout (never rendered because of an error). Worry when held or leftout stays above "+
			"0.", "state"),
		files: describe("output_files",
			"Files in the folders of all units, besides those that describe them. Worry when it falls by more than "+
				"somebody deleted."),
		held: describe("held_objects",
			"Objects of a unit that are rendered as of an earlier commit, or left out, because of an error; none "+
				"where nothing is held. Worry when it stays above 0: changes to them have no effect. An object of "+
				"several units counts in each; unit is empty for an object of no unit.", "unit", "kind"),
		since: describe("held_since_timestamp_seconds",
			"Date of the input commit since which an object of the unit is held: the oldest of them. Worry when it "+
				"is days ago: nobody corrects it.", "unit"),
		source: describe("source_info", "The input commit of the last good pass, always 1.", "source", "ref",
			"commit"),
		stale: describe("source_stale",
			"Whether a source could not be reached and stays at the last rendered commit, 0 or 1. Worry "+
				"when it stays 1.", "source", "ref"),
	}
}

// Describe implements [prometheus.Collector].
func (p *Passes) Describe(out chan<- *prometheus.Desc) {
	d := described()
	for _, one := range []*prometheus.Desc{d.ended, d.took, d.success, d.ready, d.findings, d.units, d.files, d.held,
		d.since, d.source, d.stale} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (p *Passes) Collect(out chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := described()
	for _, name := range slices.Sorted(maps.Keys(p.last)) {
		pass, good := p.last[name], p.good[name]
		c := collection{out: out, pipeline: name, folders: pass.folders}
		if !pass.folders {
			c.gauge(d.ended, float64(pass.ended.UnixMilli())/1000)
			c.gauge(d.took, pass.took.Seconds())
		}
		c.gauge(d.success, truth(!pass.failed))
		c.gauge(d.ready, truth(!pass.failed && good.ready))
		if good != nil {
			c.summary(d, good)
		}
	}
}

// collection collects the metrics of one pipeline.
type collection struct {
	out      chan<- prometheus.Metric
	pipeline string
	folders  bool
}

func (c collection) gauge(d *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{c.pipeline}, labels...)...)
}

func (c collection) summary(d descriptions, s *summary) {
	for severity, n := range s.findings {
		c.gauge(d.findings, float64(n), string(severity))
	}
	if !c.folders {
		for _, state := range plan.UnitStates() {
			c.gauge(d.units, float64(s.units[state]), string(state))
		}
		c.gauge(d.files, float64(s.files))
	}
	for k, n := range s.held {
		c.gauge(d.held, float64(n), k.unit, k.kind)
	}
	for unit, date := range s.since {
		c.gauge(d.since, float64(date.Unix()), unit)
	}
	for k, commit := range s.commits {
		c.gauge(d.source, 1, k.url, k.ref, commit)
		c.gauge(d.stale, truth(s.stale[k]), k.url, k.ref)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
