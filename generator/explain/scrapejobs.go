package explain

import (
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// ScrapeJob is a scrape job of metrics: as it is rendered, and as it is explained.
type ScrapeJob struct {
	// RenderedBy is the pipeline, where several are looked at.
	RenderedBy string
	// Unit is namespace/name of the GrafanaAgent.
	Unit string
	// Instance is the MetricsInstance, and Object what the job comes from.
	Instance, Object manifest.ID
	Job
	// Config is the job, or Raw if it is written by hand.
	Config *model.ScrapeConfig
	Raw    *model.Raw
	Global *model.Global
	// Shards are those of the GrafanaAgent. With IsShared their pods share the targets by no rule.
	Shards   []Shard
	IsShared bool
}

// ScrapeJobs returns the scrape jobs of all units in their order, and the units whose jobs are not known, because they
// keep the folder that they have.
func (x *Explainer) ScrapeJobs() (jobs []ScrapeJob, unknown []string) {
	for i := range x.render.Units {
		u := x.units[x.render.Units[i].Name]
		if u.Hierarchy == nil {
			continue
		}
		if u.Paused || u.Failed {
			unknown = append(unknown, u.Name)
			continue
		}
		u.print(x.inputs)
		for _, c := range u.printed.Configs {
			if c != nil && c.Metrics != nil {
				jobs = append(jobs, x.scrapeJobs(u, c.Metrics)...)
			}
		}
	}
	return jobs, unknown
}

func (x *Explainer) scrapeJobs(u *unit, metrics *model.Metrics) (out []ScrapeJob) {
	for i := range metrics.Configs {
		instance := &metrics.Configs[i]
		add := func(name string, origin model.Origin, job ScrapeJob) {
			at := u.places[jobOf{instance.Origin.Object, name}]
			job.Unit, job.Instance, job.Object = u.Name, manifest.IDOf(instance.Origin.Object),
				manifest.IDOf(origin.Object)
			job.Name, job.origin, job.File, job.Line, job.Bytes = name, origin, at.file, at.Line, at.Bytes
			job.Global, job.Shards, job.IsShared = &metrics.Global, u.printed.Shards, metrics.Clustered
			out = append(out, x.placedJob(job))
		}
		for _, j := range instance.ScrapeConfigs {
			add(j.JobName, j.Origin, ScrapeJob{Config: j,
				Job: Job{way: func() Way { return scraped(j, &metrics.Global) }}})
		}
		for i := range instance.Additional {
			raw := &instance.Additional[i]
			add(raw.Name(), raw.Origin, ScrapeJob{Raw: raw})
		}
	}
	return out
}

func (x *Explainer) placedJob(job ScrapeJob) ScrapeJob {
	job.Job = x.placed(Rendering{Jobs: []Job{job.Job}}).Jobs[0]
	return job
}

// RuleInWords returns a rule for targets in words, without credentials.
func RuleInWords(r *model.Relabel) string {
	text, _ := rule("targets", r)
	return text
}

// Shown returns a label of a target, or its parameter, as people may see it: without the credentials that its name or
// the form of its value tells of.
func Shown(name, value string) string {
	if credential.InField(name, value) {
		return "<redacted>"
	}
	return credential.Redacted(value)
}
