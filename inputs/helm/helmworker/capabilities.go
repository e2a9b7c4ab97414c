package helmworker

import (
	"errors"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// monitoringVersions returns the API versions and kinds that agentry reads, and related ones that charts check for.
func monitoringVersions() []string {
	var out []string
	for version, kinds := range map[string][]string{
		"monitoring.coreos.com/v1": {"ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "Prometheus",
			"Alertmanager", "ThanosRuler"},
		"monitoring.coreos.com/v1alpha1": {"ScrapeConfig", "AlertmanagerConfig", "PrometheusAgent"},
		"monitoring.grafana.com/v1alpha1": {"GrafanaAgent", "MetricsInstance", "LogsInstance", "PodLogs",
			"Integration"},
	} {
		out = append(out, version)
		for _, kind := range kinds {
			out = append(out, version+"/"+kind)
		}
	}
	slices.Sort(out)
	return out
}

func capabilities(c helm.Cluster) (*common.Capabilities, error) {
	version := c.Version
	if version == "" {
		version = helm.DefaultVersion
	}
	kube, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, errors.New("the cluster's version is not a Kubernetes version such as 1.31")
	}
	out := common.DefaultCapabilities.Copy()
	out.KubeVersion = *kube
	out.APIVersions = slices.Concat(common.DefaultVersionSet, monitoringVersions(), c.APIVersions)
	return out, nil
}
