package scrape

import (
	"strconv"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// PodLogs returns the job that reads the logs of pods, without its pipeline stages. The Builder must have the
// settings of GrafanaAgent.spec.logs. Logs are not sharded: each node reads its own.
func (b *Builder) PodLogs(p *v1alpha1.PodLogs) (*model.LogsScrapeConfig, diag.List) {
	s := &p.Spec
	key := p.Namespace + "/" + p.Name
	j := &job{Builder: b, path: "spec.", needed: "__path__"}
	j.kubernetes("pod", p.Namespace, s.NamespaceSelector)
	j.add(b.rules.jobName)
	j.selectLabels("pod", "spec.selector", &s.Selector)
	j.add(b.rules.podMeta...)
	j.copyLabels("pod", "spec.podTargetLabels", s.PodTargetLabels)
	j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(key)})
	j.jobLabel("pod", s.JobLabel)
	j.add(b.rules.podLogPath)
	for i, c := range s.RelabelConfigs {
		if c != nil {
			r := OwnRelabel(c)
			r.Written = model.Written{Field: "spec.relabelings", Item: i + 1}
			if written := WrittenRelabel(c); b.settings.KeepEmptyTexts {
				r.Separator, r.Regex, r.Replacement = written.Separator, written.Regex, written.Replacement
			} else {
				j.found.Add(EmptyTexts(written, "spec.relabelings["+strconv.Itoa(i)+"]")...)
			}
			j.checkTarget(r, "relabelings", i)
			j.add(r)
		}
	}
	j.enforceNamespace(p.Namespace)
	return &model.LogsScrapeConfig{JobName: "podLogs/" + key, Kubernetes: j.config.Kubernetes,
		Relabel: j.config.Relabel}, j.found.List
}

// OwnRelabel converts a rule of one of the agent's own kinds.
func OwnRelabel(c *v1alpha1.RelabelConfig) *model.Relabel {
	m := monitoringv1.RelabelConfig{Separator: c.Separator, TargetLabel: c.TargetLabel,
		Modulus: c.Modulus, Replacement: c.Replacement, Action: c.Action}
	if c.Regex != nil {
		m.Regex = *c.Regex
	}
	for _, l := range c.SourceLabels {
		m.SourceLabels = append(m.SourceLabels, monitoringv1.LabelName(l))
	}
	return Relabel(&m)
}
