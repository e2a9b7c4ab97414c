package workload

import (
	"maps"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
)

// addSelfMonitoring adds the alerts and the dashboard about the pods.
func addSelfMonitoring(a grafanaAgent, out *output, config *compile.Result) {
	s, agent := a.options.SelfMonitoring, watched(a, config)
	if s == nil || len(agent.Workloads) == 0 {
		return
	}
	if s.Alerts != nil {
		out.addChecked(&monitoringv1.PrometheusRule{
			TypeMeta:   metav1.TypeMeta{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule"},
			ObjectMeta: a.meta(a.Name, with(managedLabels(), s.Alerts.Labels)),
			Spec:       s.Alerts.Rules(agent),
		}, nil)
	}
	if s.Dashboard == nil {
		return
	}
	text, err := s.Dashboard.JSON(agent)
	if err != nil {
		out.found(diag.List{{Severity: diag.Error, Code: diag.InvalidObject,
			Message: "encode the dashboard: " + err.Error()}})
		return
	}
	labels := s.Dashboard.Labels
	if labels == nil {
		labels = selfmonitoring.SidecarLabels()
	}
	meta := a.meta(a.Name+"-dashboard", with(managedLabels(), labels))
	maps.Copy(meta.Annotations, s.Dashboard.Annotations)
	out.addChecked(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
		Data: map[string]string{a.Namespace + "-" + a.Name + ".json": text},
	}, nil)
}

// watched describes the workloads that are rendered.
func watched(a grafanaAgent, config *compile.Result) selfmonitoring.Agent {
	out := selfmonitoring.Agent{Namespace: a.Namespace, Name: a.Name, Metrics: a.runtime().OwnMetrics}
	add := func(pods string, metrics, logs bool) {
		out.Workloads = append(out.Workloads, selfmonitoring.Workload{Pods: pods, Metrics: metrics, Logs: logs})
	}
	if config.Metrics != nil {
		add(selfmonitoring.StatefulSets(a.Name), true, false)
	}
	if config.Logs != nil {
		add(selfmonitoring.DaemonSet(a.Name+"-logs"), false, true)
	}
	if in := config.Deployment; in != nil {
		add(selfmonitoring.Deployment(podspec.Name(a.Name, secretref.Deployment)), in.Config.Metrics != nil,
			in.Config.Logs != nil)
	}
	if in := config.DaemonSet; in != nil {
		add(selfmonitoring.DaemonSet(podspec.Name(a.Name, secretref.DaemonSet)), in.Config.Metrics != nil,
			in.Config.Logs != nil)
	}
	return out
}
