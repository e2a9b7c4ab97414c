package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImmutableChange compares two versions of a workload and returns the path of the first changed field that is
// immutable, or "". The rules come from Kubernetes' apps/v1 validation of updates.
func ImmutableChange(old, fresh Resource) string {
	was, isKnown := immutableOf(old)
	is, isWorkload := immutableOf(fresh)
	switch {
	case !isKnown || !isWorkload || was.kind != is.kind:
		return "" // the old one is not agentry's: it is replaced
	case !equality.Semantic.DeepEqual(was.selector, is.selector):
		return "spec.selector"
	case was.serviceName != is.serviceName:
		return "spec.serviceName"
	case was.podManagement != is.podManagement:
		return "spec.podManagementPolicy"
	case !equality.Semantic.DeepEqual(was.claims, is.claims):
		return "spec.volumeClaimTemplates"
	}
	return ""
}

// immutable has the immutable fields of a workload. Only a StatefulSet has any besides the selector.
type immutable struct {
	kind          string
	selector      *metav1.LabelSelector
	serviceName   string
	podManagement appsv1.PodManagementPolicyType
	claims        []corev1.PersistentVolumeClaim
}

func immutableOf(o Resource) (f immutable, isWorkload bool) {
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		f = immutable{"StatefulSet", o.Spec.Selector, o.Spec.ServiceName, o.Spec.PodManagementPolicy, nil}
		for _, claim := range o.Spec.VolumeClaimTemplates {
			claim.Status = corev1.PersistentVolumeClaimStatus{}
			f.claims = append(f.claims, claim)
		}
	case *appsv1.DaemonSet:
		f = immutable{kind: "DaemonSet", selector: o.Spec.Selector}
	case *appsv1.Deployment:
		f = immutable{kind: "Deployment", selector: o.Spec.Selector}
	default:
		return f, false
	}
	return f, true
}
