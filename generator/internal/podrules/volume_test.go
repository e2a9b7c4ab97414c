package podrules

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimed returns an ephemeral volume whose claim template has the metadata.
func claimed(meta metav1.ObjectMeta) *corev1.EphemeralVolumeSource {
	return &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: meta}}
}

func TestVolumesAndMounts(t *testing.T) {
	both := corev1.MountPropagationBidirectional
	odd := corev1.MountPropagationMode("Some")
	recursive := corev1.RecursiveReadOnlyEnabled
	for want, m := range map[string]corev1.VolumeMount{
		"": {MountPath: "relative/is/fine", SubPath: "a/b"},
		`the mount path "": it must not be empty or contain a colon`: {},
		"the mount path /: it would hide the whole image":            {MountPath: "//"},
		"a mount with a subPath and a subPathExpr": {MountPath: "/x", SubPath: "a",
			SubPathExpr: "b"},
		`the subPath, "/a", must be relative`: {MountPath: "/x", SubPath: "/a"},
		`the subPath, "a/../../b", must not contain ..`: {MountPath: "/x",
			SubPathExpr: "a/../../b"},
		"mountPropagation Bidirectional: the container is not privileged": {MountPath: "/x",
			MountPropagation: &both},
		`mountPropagation "Some": it must be None, HostToContainer or Bidirectional`: {MountPath: "/x",
			MountPropagation: &odd},
		"recursiveReadOnly: it needs readOnly: true and no mountPropagation": {MountPath: "/x",
			RecursiveReadOnly: &recursive},
	} {
		if got := Mount(&m, false); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
	for want, v := range map[string]corev1.VolumeSource{
		"": {},
		"it has more than one source": {EmptyDir: &corev1.EmptyDirVolumeSource{},
			HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		"hostPath needs a path": {HostPath: &corev1.HostPathVolumeSource{}},
		`hostPath.path, "/a/../b", must not contain ..`: {
			HostPath: &corev1.HostPathVolumeSource{Path: "/a/../b"}},
		"configMap.name is empty": {
			ConfigMap: &corev1.ConfigMapVolumeSource{}},
		"an item needs a key and a path": {
			Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{{Key: "k"}}}},
		`the path of an item, "/p", must be relative`: {
			Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{{Key: "k", Path: "/p"}}}},
		`the path of an item, "..p", begins with ..`: {
			Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{{Key: "k", Path: "..p"}}}},
		"persistentVolumeClaim.claimName is empty": {
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}},
		"ephemeral needs a volumeClaimTemplate": {
			Ephemeral: &corev1.EphemeralVolumeSource{}},
		"ephemeral.volumeClaimTemplate.metadata: only labels and annotations can be set": {
			Ephemeral: claimed(metav1.ObjectMeta{Name: "n"})},
		`ephemeral.volumeClaimTemplate.metadata.labels: Invalid value: " ": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`: {Ephemeral: claimed(metav1.ObjectMeta{Labels: map[string]string{"a": " "}})},
		"projected.sources[0]: secret.name is empty": {
			Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{}}}}},
	} {
		if got := Volume(&corev1.Volume{VolumeSource: v}); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}
