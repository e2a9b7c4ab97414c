package agentconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/diag"
)

// separateShared keeps instances apart that the agent would merge although they share a
// job: it merges all instances with equal settings, and a group with a job name twice
// never gets ready. Only then is distinct mode worth moving the WAL.
func (b *builder) separateShared(m *agentyaml.Metrics) {
	if len(m.Configs) < 2 {
		return
	}
	groups := map[string]map[string]string{} // settings -> job name -> instance
	for i := range m.Configs {
		instance := m.Configs[i]
		key := settings(instance, &m.Global)
		if groups[key] == nil {
			groups[key] = map[string]string{}
		}
		seen := func(job, shown string) bool {
			other, twice := groups[key][job]
			groups[key][job] = instance.Name
			if !twice || other == instance.Name {
				return false
			}
			m.InstanceMode = "distinct"
			b.warn(b.hierarchy.Agent, diag.SharedInstances, "spec.metrics.instanceSelector",
				"MetricsInstances %s and %s have equal settings and both %s: instance_mode is set to distinct, which moves their write-ahead log", other, instance.Name, shown)
			return true
		}
		for _, job := range instance.ScrapeConfigs {
			if seen(job.JobName, "select "+job.JobName) {
				return
			}
		}
		for _, name := range b.additionalJobs[instance.Name] {
			if seen(name, "have an additional scrape configuration of one name") {
				return
			}
		}
	}
}

// settings is equal for two instances that the agent puts into one group: all but the
// name and the jobs counts, after defaults, whatever remote writes are called and
// whichever comes first (hashConfig of its group manager).
func settings(i agentyaml.Instance, global *agentyaml.Global) string {
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
	own := string(agentyaml.Encode(&agentyaml.Config{Metrics: &agentyaml.Metrics{Configs: []agentyaml.Instance{i}}}))
	return own + strings.Join(texts, "")
}
