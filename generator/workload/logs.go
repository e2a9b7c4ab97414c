package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/podspec"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// addLogs adds the pods that read the logs of their node. They keep their positions on the
// node, in a folder that all agents share, as the operator's do (reference defect D9).
func (b *builder) addLogs() {
	pod := podOptions{
		pods:         secretref.Logs,
		configSecret: b.agent.Name + "-logs-config",
		privileged:   true,
		env:          []corev1.EnvVar{fromField("HOSTNAME", "spec.nodeName"), constant("SHARD", "0")},
	}
	for _, v := range podspec.HostLogs() {
		pod.add(mounted{v, corev1.VolumeMount{Name: v.Name, ReadOnly: true, MountPath: v.HostPath.Path}})
	}
	positions := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: podspec.DataDir}}
	pod.add(mounted{corev1.Volume{Name: "data", VolumeSource: positions}, corev1.VolumeMount{Name: "data", MountPath: podspec.DataDir}})
	b.addDaemonSet(b.agent.Name+"-logs", "logs", b.selector("logs", ""), pod)
}

// addDaemonSet adds a DaemonSet; kind is the value of its workload label.
func (b *builder) addDaemonSet(name, kind string, selector map[string]string, pod podOptions) {
	podMeta := b.podMeta(selector, pod.configSecret)
	b.add(&appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: b.workloadMeta(name, kind, podMeta.Labels),
		Spec: appsv1.DaemonSetSpec{
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
			Selector:       &metav1.LabelSelector{MatchLabels: selector},
			Template:       corev1.PodTemplateSpec{ObjectMeta: podMeta, Spec: b.podSpec(pod)},
		},
	})
}
