package build

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/model"
)

// collected gives the metrics pods the integrations that their IntegrationMonitors select from, for programs that need no
// sd-aggregator.
func (b *builder) collected(r *Result, apiServer model.KubernetesSD) {
	if r.Metrics == nil || !slices.ContainsFunc(r.Metrics.Metrics.Configs, hasIntegrationMonitor) {
		return
	}
	all := &model.PodIntegrations{Namespace: b.hierarchy.Agent.Namespace, Agent: b.hierarchy.Agent.Name, Pods: apiServer}
	all.Pods.Role, all.Pods.Namespaces = "pod", []string{all.Namespace}
	all.Pods.Selectors = []model.RoleSelector{{Role: "pod",
		Label: "operator.agent.grafana.com/name=" + all.Agent + ",operator.agent.grafana.com/type=integrations"}}
	if r.Deployment != nil {
		all.Once = r.Deployment.Config.Integrations
	}
	if r.DaemonSet != nil {
		all.EveryNode = r.DaemonSet.Config.Integrations
	}
	r.Metrics.Metrics.Integrations = all
}

func hasIntegrationMonitor(i model.Instance) bool {
	return slices.ContainsFunc(i.ScrapeConfigs, func(job *model.ScrapeConfig) bool { return job.HTTP != nil })
}
