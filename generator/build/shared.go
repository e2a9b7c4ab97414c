package build

import (
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
)

// separateShared keeps instances apart where the agent's default mode would break them. In
// it, the agent merges all instances with equal settings; a group never gets ready with a
// job name twice, with two writers that differ only in a secret, whatever they are called,
// or with rules that compare labels, which do not survive being written out again. Only
// then is distinct mode worth moving the WAL.
func (b *builder) separateShared(m *model.Metrics) {
	why := b.twice(m)
	for i := range m.Configs {
		if why != "" {
			break
		}
		why = b.ungroupable(m.Configs[i], &m.Global)
	}
	if why != "" {
		m.InstanceMode = "distinct"
		b.report.warn(b.hierarchy.Agent, diag.SharedInstances, "spec.metrics.instanceSelector",
			"%s: instance_mode is set to distinct, which moves their write-ahead log", why)
	}
}

// twice finds a job that two instances of one group have.
func (b *builder) twice(m *model.Metrics) string {
	groups := map[string]map[string]string{} // settings -> job name -> instance
	for i := range m.Configs {
		instance := m.Configs[i]
		key := settings(instance, &m.Global)
		if groups[key] == nil {
			groups[key] = map[string]string{}
		}
		why := ""
		see := func(job, shown string) {
			if other, known := groups[key][job]; known && other != instance.Name && why == "" {
				why = "MetricsInstances " + other + " and " + instance.Name + " have equal settings and both " + shown
			}
			groups[key][job] = instance.Name
		}
		for _, job := range instance.ScrapeConfigs {
			see(job.JobName, "select "+job.JobName)
		}
		for _, name := range b.additionalJobs[instance.Name] {
			see(name, "have an additional scrape configuration of one name")
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// ungroupable says why an instance breaks even in a group of its own.
func (b *builder) ungroupable(i model.Instance, global *model.Global) string {
	writes := i.RemoteWrite
	if len(writes) == 0 {
		writes = global.RemoteWrite
	}
	seen := map[string]bool{}
	rules := b.equalRules[i.Name]
	for _, w := range writes {
		w.Name = ""
		text := maskedText(w)
		if seen[text] {
			return "MetricsInstance " + i.Name + " has remote writes that differ only in a secret"
		}
		seen[text] = true
		rules = rules || slices.ContainsFunc(w.WriteRelabel, comparesLabels)
	}
	for _, job := range i.ScrapeConfigs {
		rules = rules || slices.ContainsFunc(job.Relabel, comparesLabels) || slices.ContainsFunc(job.MetricRelabel, comparesLabels)
	}
	if rules {
		return "MetricsInstance " + i.Name + " has rules of the action keepequal or dropequal"
	}
	return ""
}

// comparesLabels reports whether a rule compares labels with each other.
func comparesLabels(r *model.Relabel) bool {
	return strings.EqualFold(r.Action, "keepequal") || strings.EqualFold(r.Action, "dropequal")
}

// settings is equal for two instances that the agent puts into one group: all but the
// name and the jobs counts, after defaults, whatever remote writes are called and
// whichever comes first (hashConfig of its group manager).
func settings(i model.Instance, global *model.Global) string {
	writes := i.RemoteWrite
	if len(writes) == 0 {
		writes = global.RemoteWrite
	}
	var texts []string
	for _, w := range writes {
		w.Name = ""
		texts = append(texts, fullText(w))
	}
	slices.Sort(texts)
	i.Name, i.ScrapeConfigs, i.Additional, i.RemoteWrite = "", nil, nil, nil
	for _, f := range [...]struct {
		text *string
		def  time.Duration
	}{
		{&i.WALTruncateFrequency, defaultTruncate}, {&i.MinWALTime, defaultMinWALTime},
		{&i.MaxWALTime, defaultMaxWALTime}, {&i.RemoteFlushDeadline, defaultFlushPeriod},
	} {
		d, _ := time.ParseDuration(*f.text) // a bad one has been reported
		*f.text = orDuration(d, f.def).String()
	}
	own := string(agent.Print(&model.Config{Metrics: &model.Metrics{Configs: []model.Instance{i}}}))
	return own + strings.Join(texts, "")
}
