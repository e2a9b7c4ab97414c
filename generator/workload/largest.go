package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/agentyaml"
)

// shown is how many of the largest parts a message names.
const shown = 5

// part is something that a configuration has many of, with its size in bytes.
type part struct {
	name string
	size int
}

// largest names what makes a configuration large.
func largest(c *agentyaml.Config) string {
	parts := slices.Concat(metricsParts(c.Metrics), logsParts(c.Logs), integrationParts(c.Integrations))
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(b.size-a.size, strings.Compare(a.name, b.name)) })
	var names []string
	for _, p := range parts[:min(len(parts), shown)] {
		names = append(names, fmt.Sprintf("%s (%d bytes)", p.name, p.size))
	}
	return strings.Join(names, ", ")
}

func encoded(c agentyaml.Config) int { return len(agentyaml.Encode(&c)) }

func metricsParts(m *agentyaml.Metrics) (parts []part) {
	if m == nil {
		return nil
	}
	for i := range m.Configs {
		for _, job := range m.Configs[i].ScrapeConfigs {
			one := &agentyaml.Metrics{Configs: []agentyaml.Instance{{ScrapeConfigs: []*agentyaml.ScrapeConfig{job}}}}
			parts = append(parts, part{job.JobName, encoded(agentyaml.Config{Metrics: one})})
		}
		parts = append(parts, additionalParts(m.Configs[i].Name, m.Configs[i].Additional)...)
	}
	return parts
}

func logsParts(l *agentyaml.Logs) (parts []part) {
	if l == nil {
		return nil
	}
	for i := range l.Configs {
		for _, job := range l.Configs[i].ScrapeConfigs {
			one := &agentyaml.Logs{Configs: []agentyaml.LogsInstance{{ScrapeConfigs: []*agentyaml.LogsScrapeConfig{job}}}}
			parts = append(parts, part{job.JobName, encoded(agentyaml.Config{Logs: one})})
		}
		parts = append(parts, additionalParts(l.Configs[i].Name, l.Configs[i].Additional)...)
	}
	return parts
}

// additionalParts joins the hand-written jobs of an instance: they stand in one Secret.
func additionalParts(instance string, jobs []agentyaml.Raw) []part {
	p := part{name: "additionalScrapeConfigs of " + instance}
	for _, job := range jobs {
		p.size += len(job.Text)
	}
	if p.size == 0 {
		return nil
	}
	return []part{p}
}

func integrationParts(all *agentyaml.Integrations) (parts []part) {
	if all == nil {
		return nil
	}
	for _, list := range all.Lists {
		for i, config := range list.Configs {
			one := &agentyaml.Integrations{Lists: []agentyaml.IntegrationList{{Name: list.Name, Configs: []agentyaml.Map{config}}}}
			parts = append(parts, part{fmt.Sprintf("%s_configs[%d]", list.Name, i), encoded(agentyaml.Config{Integrations: one})})
		}
	}
	return parts
}
