package podrules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodDoubts returns what the API server takes of a pod with a warning, for it does not do what it
// says (GetWarningsForPod): affinities and spread constraints without a selector, names that are
// empty. The details are sentences.
func PodDoubts(pod *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	noSelector := func(path *field.Path) {
		errs = append(errs, field.Invalid(path.Child("labelSelector"), nil, "without a labelSelector it is about no pod, and does nothing"))
	}
	for i, c := range pod.TopologySpreadConstraints {
		if c.LabelSelector == nil {
			noSelector(path.Child("topologySpreadConstraints").Index(i))
		}
	}
	for i, s := range pod.ImagePullSecrets {
		if s.Name == "" {
			errs = append(errs, field.Invalid(path.Child("imagePullSecrets").Index(i).Child("name"), "", "names no Secret"))
		}
	}
	for _, t := range podTerms(pod.Affinity, path.Child("affinity")) {
		if t.LabelSelector == nil {
			noSelector(t.path)
		}
	}
	return errs
}

// ContainerDoubts is [PodDoubts] for a container: bytes that are no whole number.
func ContainerDoubts(c *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
		path := path.Child("resources", []string{"limits", "requests"}[i])
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if value, ok := list[name]; ok && value.MilliValue()%1000 != 0 {
				errs = append(errs, field.Invalid(path.Key(string(name)), value.String(), value.String()+" is a fraction of bytes: m stands for a thousandth, M and Mi for a million"))
			}
		}
	}
	return errs
}
