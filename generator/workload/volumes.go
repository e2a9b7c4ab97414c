package workload

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// mounted has volumes and their mounts.
type mounted struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
}

func (m *mounted) add(v corev1.Volume, mount corev1.VolumeMount) {
	m.volumes, m.mounts = append(m.volumes, v), append(m.mounts, mount)
}

// volumes returns all volumes of a pod and the mounts of its containers, in the operator's order.
func (a grafanaAgent) volumes(p pods) mounted {
	var m mounted
	if m.volumes, m.mounts = a.runtime().ConfigVolumes(p.config.secret); len(p.config.others) > 0 {
		m.volumes, m.mounts = runtimes.FolderVolume(append([]string{p.config.secret}, p.config.others...))
	}
	if source, ok := a.secretsSource(p.kind); ok {
		const name = "secrets"
		m.add(corev1.Volume{Name: name, VolumeSource: source},
			corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: secretref.Dir})
	}
	m.volumes, m.mounts = append(m.volumes, p.mounted.volumes...), append(m.mounts, p.mounted.mounts...)
	m.volumes, m.mounts = append(m.volumes, a.spec.Volumes...), append(m.mounts, a.spec.VolumeMounts...)
	for _, name := range a.spec.Secrets {
		volume := podspec.ObjectVolume("secret-" + name)
		m.add(corev1.Volume{Name: volume,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
			corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: podspec.ExtraSecretsDir + name})
	}
	for _, name := range a.spec.ConfigMaps {
		volume := podspec.ObjectVolume("configmap-" + name)
		source := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		m.add(corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &source}},
			corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: podspec.ExtraConfigMapsDir + name})
	}
	return m
}

// secretsSource returns the source of the volume with the files of references: the shared Secret, the cluster's own
// objects, or both. It returns false without references.
func (a grafanaAgent) secretsSource(kind secretref.Group) (corev1.VolumeSource, bool) {
	sources := a.secrets.Projections(kind)
	if a.secrets.HasShared() {
		if len(sources) == 0 {
			return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: a.sharedSecretName()}}, true
		}
		shared := corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: a.sharedSecretName()}}
		sources = append([]corev1.VolumeProjection{{Secret: &shared}}, sources...)
	}
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}, len(sources) > 0
}

// addStorage mounts the write-ahead log of a StatefulSet. With a claim template, the pod has a mount but no volume.
func (a grafanaAgent) addStorage(m *mounted, set string) []corev1.PersistentVolumeClaim {
	s := a.spec.Storage
	name := set + "-wal"
	if s != nil && s.VolumeClaimTemplate.Name != "" {
		name = s.VolumeClaimTemplate.Name
	}
	mount := corev1.VolumeMount{Name: name, MountPath: podspec.DataDir}
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	switch {
	case s == nil:
	case s.EmptyDir != nil:
		source.EmptyDir = s.EmptyDir
	case s.Ephemeral != nil:
		source = corev1.VolumeSource{Ephemeral: s.Ephemeral}
	default:
		m.mounts = append(m.mounts, mount)
		return []corev1.PersistentVolumeClaim{claim(&s.VolumeClaimTemplate, name)}
	}
	m.add(corev1.Volume{Name: name, VolumeSource: source}, mount)
	return nil
}

// claim returns the claim template of spec.storage, without the status that exported objects have.
func claim(t *monitoringv1.EmbeddedPersistentVolumeClaim, name string) corev1.PersistentVolumeClaim {
	out := corev1.PersistentVolumeClaim{TypeMeta: t.TypeMeta, Spec: t.Spec}
	out.Name, out.Labels, out.Annotations = name, t.Labels, t.Annotations
	if len(out.Spec.AccessModes) == 0 {
		out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	return out
}
