package podrules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodWarnings returns the fields of a pod that the API server accepts with a warning because they have no effect:
// affinities and spread constraints without a selector, empty names. The rules come from GetWarningsForPod. The details
// of the errors are whole sentences.
func PodWarnings(pod *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	noSelector := func(path *field.Path) {
		errs = append(errs, field.Invalid(path.Child("labelSelector"), nil,
			"has no effect without a labelSelector: it matches no pod"))
	}
	for i, c := range pod.TopologySpreadConstraints {
		if c.LabelSelector == nil {
			noSelector(path.Child("topologySpreadConstraints").Index(i))
		}
	}
	for i, s := range pod.ImagePullSecrets {
		if s.Name == "" {
			errs = append(errs, field.Invalid(path.Child("imagePullSecrets").Index(i).Child("name"), "",
				"names no Secret"))
		}
	}
	for _, t := range podTerms(pod.Affinity, path.Child("affinity")) {
		if t.LabelSelector == nil {
			noSelector(t.path)
		}
	}
	return errs
}

// ContainerWarnings is [PodWarnings] for a container. It finds quantities with a fraction of a byte.
func ContainerWarnings(c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
		path := path.Child("resources", []string{"limits", "requests"}[i])
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if value, ok := list[name]; ok && value.MilliValue()%1000 != 0 {
				errs = append(errs, field.Invalid(path.Key(string(name)), value.String(),
					value.String()+" has a fraction of a byte: m stands for a thousandth, M and Mi for a million"))
			}
		}
	}
	return errs
}

// VolumeWarning is [PodWarnings] for a volume. It returns a sentence about files that overlap, empty sources and
// plugins that Kubernetes has removed, or "".
func VolumeWarning(v *corev1.Volume) string {
	var files []string
	switch {
	case v.Secret != nil:
		files = paths(v.Secret.Items)
	case v.ConfigMap != nil:
		files = paths(v.ConfigMap.Items)
	case v.DownwardAPI != nil:
		files = downwardPaths(v.DownwardAPI.Items)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			s := &v.Projected.Sources[i]
			if *s == (corev1.VolumeProjection{}) {
				return fmt.Sprintf("projected.sources[%d] is empty", i)
			}
			files = append(files, projectedPaths(s)...)
			if s.ServiceAccountToken != nil { // Kubernetes does not refuse a token at the path of another source.
				files = append(files, s.ServiceAccountToken.Path)
			}
		}
	default:
		return removed(&v.VolumeSource)
	}
	return overlap(files)
}

// overlap returns two files, one at the path of the other or below it. It sorts with a separator that comes before
// every other character, so that two such files are neighbours.
func overlap(files []string) string {
	const separator = "\x00"
	sorted := make([]string, len(files))
	for i, f := range files {
		sorted[i] = strings.ReplaceAll(path.Clean(f), "/", separator)
	}
	slices.Sort(sorted)
	for i := range max(len(sorted)-1, 0) {
		if a, b := sorted[i], sorted[i+1]; a == b || strings.HasPrefix(b, a+separator) {
			return fmt.Sprintf("two files overlap, %q and %q", strings.ReplaceAll(a, separator, "/"),
				strings.ReplaceAll(b, separator, "/"))
		}
	}
	return ""
}

// removed returns the version of Kubernetes that removed the plugin of a source.
func removed(s *corev1.VolumeSource) string {
	for _, old := range []struct {
		name, since string
		is          bool
	}{
		{"photonPersistentDisk", "1.16", s.PhotonPersistentDisk != nil},
		{"scaleIO", "1.22", s.ScaleIO != nil},
		{"flocker", "1.25", s.Flocker != nil},
		{"storageos", "1.25", s.StorageOS != nil},
		{"quobyte", "1.25", s.Quobyte != nil},
		{"glusterfs", "1.26", s.Glusterfs != nil},
		{"cephfs", "1.31", s.CephFS != nil},
		{"rbd", "1.31", s.RBD != nil},
		{"gitRepo", "1.33 (by default)", s.GitRepo != nil},
	} {
		if old.is {
			return fmt.Sprintf("Kubernetes removed %s in version %s", old.name, old.since)
		}
	}
	return ""
}
