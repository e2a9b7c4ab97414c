package agent

import (
	"cmp"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// Check checks a configuration against the agent's rules. It returns the configuration to print: writers that the
// agent could not tell apart get names, instances are in the best order for the start, and they are separate if the
// agent would merge them wrongly.
func Check(c *model.Config) (*model.Config, diag.List) {
	out := *c
	var found diag.List
	if c.Metrics != nil {
		m := *c.Metrics
		lacking := lacking{found: &found, seen: map[model.Origin]bool{}}
		m.Global.RemoteWrite = nameWriters(&found, lacking.writers(m.Global.RemoteWrite))
		m.Configs = slices.Clone(m.Configs)
		for i := range m.Configs {
			instance := &m.Configs[i]
			instance.RemoteWrite = nameWriters(&found, lacking.writers(instance.RemoteWrite))
			for _, job := range instance.ScrapeConfigs {
				lacking.job(job)
			}
			checkInstance(&found, c, instance)
		}
		if c.Integrations == nil {
			found.Add(instance.Destinations(c)...)
			found.Add(instance.GlobalTimeout(c)...)
		} else {
			putFirst(&m, c.Integrations.Instances)
		}
		separate(&found, c, &m)
		out.Metrics = &m
	}
	if c.Logs != nil {
		l := *c.Logs
		l.Configs = slices.Clone(l.Configs)
		for i := range l.Configs {
			one := &l.Configs[i]
			one.Clients = nameClients(&found, one.Clients)
			found.Add(instance.HandWrittenLogs(one, c.KnownVersion)...)
		}
		found.Add(stages.CheckAll(&l)...)
		out.Logs = &l
	}
	return &out, found
}

// putFirst moves the instances that integrations scrape themselves into to the front: the agent sets integrations up
// while its instances start, and finds only those that have started. With more than one, Separate helps, because
// instances start fastest in that mode.
func putFirst(m *model.Metrics, wanted []string) {
	rank := func(i model.Instance) int {
		if slices.Contains(wanted, i.Name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(m.Configs, func(x, y model.Instance) int { return cmp.Compare(rank(x), rank(y)) })
	if len(wanted) > 1 {
		m.Separate = true
	}
}
