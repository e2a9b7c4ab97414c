package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// shown is the number of parts that an error names.
const shown = 5

// part is a part of a configuration, with its size in bytes.
type part struct {
	name string
	size int
	from diag.Object // if known
}

// parts are the largest parts of something, the largest first.
type parts []part

func (list parts) String() string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprintf("%s (%d bytes)", p.name, p.size))
	}
	return strings.Join(names, ", ")
}

// objects returns the objects that the parts come from, for Related of a finding.
func (list parts) objects() (out []diag.Object) {
	for _, p := range list {
		if p.from != (diag.Object{}) && !slices.Contains(out, p.from) {
			out = append(out, p.from)
		}
	}
	return out
}

// jobKinds are the kinds of objects that jobs are named after.
var jobKinds = map[string]diag.Object{
	"serviceMonitor":     {APIVersion: "monitoring.coreos.com/v1", Kind: "ServiceMonitor"},
	"podMonitor":         {APIVersion: "monitoring.coreos.com/v1", Kind: "PodMonitor"},
	"probe":              {APIVersion: "monitoring.coreos.com/v1", Kind: "Probe"},
	"scrapeConfig":       {APIVersion: "monitoring.coreos.com/v1alpha1", Kind: "ScrapeConfig"},
	"integrationMonitor": {APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.IntegrationMonitorKind},
	"podLogs":            {APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.PodLogsKind},
}

// job returns a job as a part. Its name is kind/namespace/name, which a number can follow.
func job(name string, size int) part {
	p := part{name: name, size: size}
	if words := strings.Split(name, "/"); len(words) > 2 && jobKinds[words[0]].Kind != "" {
		p.from = jobKinds[words[0]]
		p.from.Namespace, p.from.Name = words[1], words[2]
	}
	return p
}

// largest returns the largest parts of a configuration.
func largest(c *model.Config, r runtime.Runtime) parts {
	size := func(c model.Config) int {
		text, _ := r.Print(&c)
		return len(text)
	}
	return first(slices.Concat(metricsParts(c.Metrics, size), logsParts(c.Logs, size), integrationParts(c.Integrations, size)))
}

// largestSources returns the largest parts of the shared Secret.
func largestSources(secrets *secretref.Resolver) parts {
	var all parts
	for o, size := range secrets.Sizes() {
		all = append(all, part{o.String(), size, o})
	}
	return first(all)
}

func first(all parts) parts {
	slices.SortFunc(all, func(a, b part) int { return cmp.Or(b.size-a.size, strings.Compare(a.name, b.name)) })
	return all[:min(len(all), shown)]
}

func metricsParts(m *model.Metrics, size func(model.Config) int) (parts []part) {
	if m == nil {
		return nil
	}
	for i := range m.Configs {
		for _, j := range m.Configs[i].ScrapeConfigs {
			one := &model.Metrics{Configs: []model.Instance{{ScrapeConfigs: []*model.ScrapeConfig{j}}}}
			parts = append(parts, job(j.JobName, size(model.Config{Metrics: one})))
		}
		parts = append(parts, additionalParts(v1alpha1.MetricsInstanceKind, m.Configs[i].Name, m.Configs[i].Additional)...)
	}
	return parts
}

func logsParts(l *model.Logs, size func(model.Config) int) (parts []part) {
	if l == nil {
		return nil
	}
	for i := range l.Configs {
		for _, j := range l.Configs[i].ScrapeConfigs {
			one := &model.Logs{Configs: []model.LogsInstance{{ScrapeConfigs: []*model.LogsScrapeConfig{j}}}}
			parts = append(parts, job(j.JobName, size(model.Config{Logs: one})))
		}
		parts = append(parts, additionalParts(v1alpha1.LogsInstanceKind, l.Configs[i].Name, l.Configs[i].Additional)...)
	}
	return parts
}

// additionalParts joins the hand-written jobs of an instance, which all come from one Secret.
func additionalParts(kind, instance string, jobs []model.Raw) []part {
	p := part{name: "additionalScrapeConfigs of " + instance, from: diag.Object{APIVersion: v1alpha1.APIVersion, Kind: kind}}
	p.from.Namespace, p.from.Name, _ = strings.Cut(instance, "/")
	for _, job := range jobs {
		p.size += len(job.Text)
	}
	if p.size == 0 {
		return nil
	}
	return []part{p}
}

func integrationParts(all *model.Integrations, size func(model.Config) int) (parts []part) {
	if all == nil {
		return nil
	}
	for _, list := range all.Lists {
		for i, config := range list.Configs {
			one := &model.Integrations{Lists: []model.IntegrationList{{Name: list.Name, Configs: []model.Map{config}}}}
			parts = append(parts, part{name: fmt.Sprintf("%s_configs[%d]", list.Name, i), size: size(model.Config{Integrations: one})})
		}
	}
	return parts
}
