package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/build"
	"github.com/agentry-dev/agentry/generator/podspec"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// addIntegrations adds the pods of integrations, those that run once and those on every
// node, and the Service by which they are found.
func (b *builder) addIntegrations() {
	once, everywhere := b.config.Deployment, b.config.DaemonSet
	if once != nil {
		b.addConfig(podspec.Name(b.agent.Name, secretref.Deployment)+"-config", once.Config)
	}
	if everywhere != nil {
		b.addConfig(podspec.Name(b.agent.Name, secretref.DaemonSet)+"-config", everywhere.Config)
	}
	if once != nil || everywhere != nil {
		b.addSDService()
	}
	if once != nil {
		b.addDeployment(b.integrationsPod(secretref.Deployment, once))
	}
	if everywhere != nil {
		pod := b.integrationsPod(secretref.DaemonSet, everywhere)
		b.addDaemonSet(podspec.Name(b.agent.Name, pod.pods), "integrations-daemonset", b.integrationsSelector(), pod)
	}
}

// integrationsSelector is the same for both workloads, as the operator's is (reference
// defect D4): each of them knows its own pods by their owner.
func (b *builder) integrationsSelector() map[string]string { return b.selector("integrations", "0") }

// integrationsPod also has what metrics and logs pods have, since its agent runs the
// MetricsInstances and LogsInstances too, for integrations to send to. What was found in
// the integrations has been reported by build.
func (b *builder) integrationsPod(pods secretref.Group, in *build.Integrations) podOptions {
	extras := podspec.Integrations(b.agent, pods, in.Objects, b.config.Secrets)
	return podOptions{
		pods:         pods,
		configSecret: podspec.Name(b.agent.Name, pods) + "-config",
		env:          []corev1.EnvVar{constant("SHARD", "0"), b.shards(), fromField("HOSTNAME", "spec.nodeName")},
		volumes:      extras.Volumes,
		mounts:       extras.Mounts,
	}
}

func (b *builder) addDeployment(pod podOptions) {
	selector := b.integrationsSelector()
	podMeta := b.podMeta(selector, pod.configSecret)
	b.add(&appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: b.workloadMeta(podspec.Name(b.agent.Name, pod.pods), "integrations-deployment", podMeta.Labels),
		Spec: appsv1.DeploymentSpec{
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: podMeta, Spec: b.podSpec(pod)},
		},
	})
}
