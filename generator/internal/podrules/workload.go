package podrules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Workload returns the errors of a StatefulSet, DaemonSet or Deployment outside its pod template. Package workload
// never renders them, so they are found only in a patched workload.
func Workload(object any) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		u := o.Spec.UpdateStrategy
		errs = append(errs, common(o.Spec.Selector, &o.Spec.Template, o.Spec.Replicas, o.Spec.MinReadySeconds)...)
		errs = append(errs, oneOf(spec.Child("updateStrategy", "type"), u.Type,
			appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType, "")...)
		errs = append(errs, unused(spec.Child("updateStrategy"), u.Type == appsv1.OnDeleteStatefulSetStrategyType,
			u.RollingUpdate != nil)...)
		errs = append(errs, oneOf(spec.Child("podManagementPolicy"), o.Spec.PodManagementPolicy,
			appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement, "")...)
	case *appsv1.DaemonSet:
		u := o.Spec.UpdateStrategy
		errs = append(errs, common(o.Spec.Selector, &o.Spec.Template, nil, o.Spec.MinReadySeconds)...)
		errs = append(errs, oneOf(spec.Child("updateStrategy", "type"), u.Type,
			appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType, "")...)
		if r := u.RollingUpdate; r != nil && u.Type != appsv1.OnDeleteDaemonSetStrategyType {
			errs = append(errs, rolls(spec.Child("updateStrategy", "rollingUpdate"), orNumber(r.MaxUnavailable, 1),
				orNumber(r.MaxSurge, 0), true)...)
		}
	case *appsv1.Deployment:
		u := o.Spec.Strategy
		errs = append(errs, common(o.Spec.Selector, &o.Spec.Template, o.Spec.Replicas, o.Spec.MinReadySeconds)...)
		errs = append(errs, oneOf(spec.Child("strategy", "type"), u.Type, appsv1.RollingUpdateDeploymentStrategyType,
			appsv1.RecreateDeploymentStrategyType, "")...)
		errs = append(errs, unused(spec.Child("strategy"), u.Type == appsv1.RecreateDeploymentStrategyType,
			u.RollingUpdate != nil)...)
		if r := u.RollingUpdate; r != nil {
			errs = append(errs, rolls(spec.Child("strategy", "rollingUpdate"), orNumber(r.MaxUnavailable, 1),
				orNumber(r.MaxSurge, 1), false)...)
		}
	}
	return errs
}

// common checks the fields that all workloads have.
func common(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, replicas *int32,
	ready int32) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	s, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil || s.Empty():
		errs = append(errs, field.Invalid(spec.Child("selector"), "", "selects no pods"))
	case !s.Matches(labels.Set(template.Labels)):
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), template.Labels,
			"the selector of the workload does not match them"))
	}
	if replicas != nil && *replicas < 0 {
		errs = append(errs, field.Invalid(spec.Child("replicas"), *replicas, "must not be negative"))
	}
	if ready < 0 {
		errs = append(errs, field.Invalid(spec.Child("minReadySeconds"), ready, "must not be negative"))
	}
	if policy := template.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec.Child("template", "spec", "restartPolicy"), policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(spec.Child("template", "spec", "activeDeadlineSeconds"), "only for Jobs"))
	}
	return errs
}

func unused(strategy *field.Path, other, isSet bool) field.ErrorList {
	if other && isSet {
		return field.ErrorList{field.Forbidden(strategy.Child("rollingUpdate"), "another type is set")}
	}
	return nil
}

// orNumber returns a value, or its default.
func orNumber(v *intstr.IntOrString, byDefault int32) intstr.IntOrString {
	if v == nil {
		return intstr.FromInt32(byDefault)
	}
	return *v
}

// rolls checks that a rolling update can make progress: through maxUnavailable or maxSurge, or through exactly one of
// them.
func rolls(path *field.Path, unavailable, surge intstr.IntOrString, exactlyOne bool) (errs field.ErrorList) {
	isSet := func(name string, v intstr.IntOrString) bool {
		n, err := intstr.GetScaledValueFromIntOrPercent(&v, 100, true)
		if err != nil || n < 0 {
			errs = append(errs, field.Invalid(path.Child(name), v.String(),
				"must be a number, or a percentage such as 25%"))
			return true
		}
		return n > 0
	}
	switch out, in := isSet("maxUnavailable", unavailable), isSet("maxSurge", surge); {
	case !out && !in:
		errs = append(errs, field.Invalid(path, "0", "maxUnavailable and maxSurge must not both be 0"))
	case exactlyOne && out && in && len(errs) == 0:
		errs = append(errs, field.Invalid(path, unavailable.String(),
			"one of maxUnavailable (1 if it is not set) and maxSurge must be 0"))
	}
	return errs
}
