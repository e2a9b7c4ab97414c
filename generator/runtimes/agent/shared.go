package agent

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// separate keeps instances apart if the agent's default mode would break them. That mode merges all instances with
// equal settings. A group never becomes ready if it has a job name twice, two writers that differ only in a secret or
// a regular expression (even with other names), or rules that compare labels, because these change when the agent
// writes them out again. Distinct mode is used only then, because it moves the WAL.
func separate(found *diag.List, c *model.Config, m *model.Metrics) {
	why := twice(m)
	for i := range m.Configs {
		if why != "" {
			break
		}
		why = ungroupable(m.Configs[i], &m.Global)
	}
	if why != "" {
		m.Separate = true
		found.Add(c.Origin.Place(diag.SharedInstances.At("spec.metrics.instanceSelector", "%s",
			why+": instance_mode is set to distinct, which moves their write-ahead log")))
	}
}

// twice returns a message about a job that two instances of one group have, or "".
func twice(m *model.Metrics) string {
	groups := groups(m)
	first := make([]map[string]string, len(m.Configs)) // by the first instance of a group: job name -> instance
	for n := range m.Configs {
		i, of := &m.Configs[n], groups[n]
		if first[of] == nil {
			first[of] = map[string]string{}
		}
		why := ""
		see := func(job, shown string) {
			if other, known := first[of][job]; known && other != i.Name && why == "" {
				why = "MetricsInstances " + other + " and " + i.Name + " have equal settings and both " + shown
			}
			first[of][job] = i.Name
		}
		for _, job := range i.ScrapeConfigs {
			see(job.JobName, "select "+job.JobName)
		}
		for k := range i.Additional {
			see(i.Additional[k].Name(), "have an additional scrape configuration of one name")
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// ungroupable returns why an instance breaks even in a group of its own, or "".
func ungroupable(i model.Instance, global *model.Global) string {
	writes := writesOf(&i, global)
	masks := make([]model.RemoteWrite, len(writes))
	rules := slices.ContainsFunc(i.Additional, comparesLabelsOf)
	for n, w := range writes {
		w.Name = ""
		masks[n] = maskedWriter(w)
		rules = rules || slices.ContainsFunc(w.WriteRelabel, comparesLabels)
	}
	if len(classes(masks, address, equalWriters)) < len(masks) {
		return "MetricsInstance " + i.Name + " has remote writes that differ only in a secret or a regular expression"
	}
	for _, job := range i.ScrapeConfigs {
		rules = rules || slices.ContainsFunc(job.Relabel, comparesLabels) ||
			slices.ContainsFunc(job.MetricRelabel, comparesLabels)
	}
	if rules {
		return "MetricsInstance " + i.Name + " has rules of the action keepequal or dropequal"
	}
	return ""
}

func writesOf(i *model.Instance, global *model.Global) []model.RemoteWrite {
	if len(i.RemoteWrite) == 0 {
		return global.RemoteWrite
	}
	return i.RemoteWrite
}

// comparesLabels reports whether a rule compares labels with each other.
func comparesLabels(r *model.Relabel) bool {
	return strings.EqualFold(r.Action, "keepequal") || strings.EqualFold(r.Action, "dropequal")
}

// settings are what the agent groups instances by (hashConfig of its group manager): everything except the name and
// the jobs, after defaults. Names and order of remote writes do not count.
type settings struct {
	truncate, minWALTime, maxWALTime, flush time.Duration
	stale                                   bool
	writes                                  []model.RemoteWrite
}

// groups returns, for each instance, the index of the first one in its group.
func groups(m *model.Metrics) []int {
	all := make([]settings, len(m.Configs))
	for n := range m.Configs {
		i := &m.Configs[n]
		all[n] = settings{
			truncate:   cmp.Or(instance.GoDuration(i.WALTruncateFrequency), instance.DefaultTruncate),
			minWALTime: cmp.Or(instance.GoDuration(i.MinWALTime), instance.DefaultMinWALTime),
			maxWALTime: cmp.Or(instance.GoDuration(i.MaxWALTime), instance.DefaultMaxWALTime),
			flush:      cmp.Or(instance.GoDuration(i.RemoteFlushDeadline), defaultFlushPeriod),
			stale:      i.WriteStaleOnShutdown,
		}
		for _, w := range writesOf(i, &m.Global) {
			w.Name = ""
			all[n].writes = append(all[n].writes, bare(w))
		}
	}
	out := make([]int, len(all))
	for _, group := range classes(all, settings.addresses, settings.equal) {
		for _, n := range group {
			out[n] = group[0]
		}
	}
	return out
}

// addresses returns where the remote writes go, in order.
func (s settings) addresses() string {
	var all []string
	for _, w := range s.writes {
		all = append(all, address(w))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// equal reports whether the agent groups instances with these settings.
func (s settings) equal(other settings) bool {
	if s.truncate != other.truncate || s.minWALTime != other.minWALTime || s.maxWALTime != other.maxWALTime ||
		s.flush != other.flush ||
		s.stale != other.stale || len(s.writes) != len(other.writes) {
		return false
	}
	left := slices.Clone(other.writes)
	for _, w := range s.writes {
		i := slices.IndexFunc(left, func(o model.RemoteWrite) bool { return equalWriters(w, o) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}
