package alloyconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
)

// Job is a job of an instance. A configuration can have thousands, and of most of them only the name is asked for: the fields are read when
// they are needed.
type Job struct {
	// Name is the field job_name, if it is a text.
	Name string
	// texts are what the fields are read from, apart from the name.
	texts []string
	read  func() map[string]any
}

// Fields reads the job.
func (j *Job) Fields() map[string]any { return j.read() }

// IsSame reports whether two jobs are read from the same texts, so that their fields are equal. It reads neither.
func (j *Job) IsSame(other *Job) bool {
	return j.Name == other.Name && slices.Equal(j.texts, other.texts)
}

// scrapes adds the jobs of a component that scrapes.
func (c *config) scrapes(b *Block) {
	var relabels []*Block
	receivers := c.to(b, "forward_to")
	for i, r := range receivers {
		if r.Name != "prometheus.relabel" {
			continue
		}
		if i > 0 {
			relabels = append(relabels, r)
		}
		if next := c.to(r, "forward_to"); len(next) > 0 {
			receivers[i] = next[0]
		}
	}
	if len(receivers) == 0 || c.writers[receivers[0].ID()] == nil {
		return
	}
	c.used[b.ID()] = true
	instance := c.writers[receivers[0].ID()]
	texts := []string{content(b, "targets", "forward_to")}
	for _, r := range relabels {
		texts = append(texts, content(r, "forward_to"))
	}
	shared := sync.OnceValue(func() map[string]any { return sharedFields(b, relabels) })
	for _, endpoint := range c.to(b, "targets") {
		from := c.origins(endpoint.attr("targets"), 0)
		job := &Job{
			Name:  scrapeName(b, endpoint),
			texts: appendTexts(append(slices.Clip(texts), endpoint.Text), from),
			read:  func() map[string]any { return scrapeJob(shared(), endpoint, from) },
		}
		if exporter := exporterOf(from); exporter != "" {
			own := job.Fields()
			own["metrics_instance"] = instance["name"]
			c.ofExporter[exporter] = append(c.ofExporter[exporter], own)
			continue
		}
		addJob(instance, job)
	}
}

// content returns a text that tells what fields returns of a block. It does not depend on the block's label.
func content(b *Block, without ...string) string {
	var parts []string
	for _, a := range b.Attrs {
		if !slices.Contains(without, a.Name) {
			parts = append(parts, a.Name, a.Value)
		}
	}
	for _, inner := range b.Blocks {
		parts = append(parts, inner.Text)
	}
	return fmt.Sprintf("%q", parts)
}

// scrapeName returns the name of a job, which one of the first rules of its endpoint says. Rules after that are not read.
func scrapeName(scrape, endpoint *Block) string {
	known := map[string]bool{}
	for _, b := range endpoint.Blocks {
		if b.Name != "rule" {
			continue
		}
		label, text, is := setting(fields(b))
		if !is || known[label] {
			break
		}
		if settingOf[label] == "job_name" {
			return text
		}
		known[label] = true
	}
	name, _ := value(scrape.attr("job_name")).(string)
	return name
}

// sharedFields returns what all jobs of a component have in common. relabels have their metric relabel rules.
func sharedFields(scrape *Block, relabels []*Block) map[string]any {
	shared := fields(scrape, "targets", "forward_to")
	var rules []any
	for _, r := range relabels {
		if all, _ := fields(r)["metric_relabel_configs"].([]any); len(all) > 0 {
			rules = all[1:] // the first keeps what a scrape says about itself
		}
	}
	if len(rules) > 0 {
		shared["metric_relabel_configs"] = rules
	}
	return shared
}

// scrapeJob reads the job of an endpoint.
func scrapeJob(shared map[string]any, endpoint *Block, from []origin) map[string]any {
	job := maps.Clone(shared)
	rules, _ := fields(endpoint)["relabel_configs"].([]any)
	if rules = settings(job, rules); len(rules) > 0 {
		job["relabel_configs"] = rules
	}
	addOrigins(job, from)
	return job
}

// reads adds the job of a component that reads logs.
func (c *config) reads(b *Block) {
	receivers := c.to(b, "forward_to")
	texts := []string{b.Text}
	var process *Block
	if len(receivers) > 0 && receivers[0].Name == "loki.process" {
		process = receivers[0]
		texts = append(texts, process.Text)
		receivers = c.to(process, "forward_to")
	}
	if len(receivers) == 0 || c.writers[receivers[0].ID()] == nil {
		return
	}
	c.used[b.ID()] = true
	var sources []logSource
	for _, found := range append(c.to(b, "targets"), c.to(b, "relabel_rules")...) {
		s := logSource{found: found, rules: append(c.to(found, "path_targets"), found)[0]}
		if s.hasRules() {
			s.from = c.origins(s.rules.attr("targets"), 0)
		} else {
			s.from = c.origins(found.attr("path_targets"), 0)
		}
		sources, texts = append(sources, s), appendTexts(append(texts, found.Text, s.rules.Text), s.from)
	}
	instance := c.writers[receivers[0].ID()]
	name := strings.TrimPrefix(alloynames.Name(b.Label), instance["name"].(string)+"/")
	addJob(instance, &Job{Name: name, texts: texts, read: func() map[string]any { return logJob(name, b, process, sources) }})
}

// logSource is a component that finds log files, or whose rules a journal has.
type logSource struct {
	found, rules *Block // rules has the relabel rules, if there are some; it can be found itself
	from         []origin
}

func (s logSource) hasRules() bool {
	return slices.ContainsFunc(s.rules.Blocks, func(b *Block) bool { return b.Name == "rule" })
}

// logJob reads a job of logs. process has its stages, if it is not nil.
func logJob(name string, b, process *Block, sources []logSource) map[string]any {
	job := fields(b, "targets", "forward_to", "relabel_rules")
	job["job_name"] = name
	if process != nil {
		job["pipeline_stages"] = fields(process)["pipeline_stages"]
	}
	for _, s := range sources {
		if period := s.found.attr("sync_period"); period != "" {
			job["sync_period"] = value(period)
		}
		if s.hasRules() {
			job["relabel_configs"] = fields(s.rules)["relabel_configs"]
		}
		addOrigins(job, s.from)
	}
	return job
}
