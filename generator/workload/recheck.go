package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podrules"
)

// recheck reports the errors that Kubernetes would find in a changed object and not in the original.
func (out *output) recheck(original, changed Resource) (found diag.List) {
	known := out.refusals(original)
	for _, f := range out.refusals(changed) {
		// Only messages are compared: they name the field, and a path is the field of the GrafanaAgent, which cannot be
		// found for everything that a patch changes.
		if !slices.ContainsFunc(known, func(k diag.Diagnostic) bool { return k.Message == f.Message }) {
			found = append(found, f)
		}
	}
	return append(found, out.replacedArguments(original, changed)...)
}

// replacedArguments reports arguments that a change removes from the containers of a workload.
func (out *output) replacedArguments(original, changed Resource) (found diag.List) {
	after := containersOf(changed)
	for _, own := range containersOf(original) {
		if i := slices.IndexFunc(after, func(c corev1.Container) bool { return c.Name == own.Name }); i >= 0 {
			found = append(found, out.missingArguments("", &own, &after[i])...)
		}
	}
	return found
}

// containersOf returns the containers of a workload's pods.
func containersOf(object Resource) []corev1.Container {
	if pods := Pods(object); pods != nil {
		return pods.Spec.Containers
	}
	return nil
}

// refusals returns the errors and warnings that Kubernetes would give for an object. The messages name the fields.
func (out *output) refusals(object Resource) (found diag.List) {
	at := field.NewPath("metadata")
	errs := apivalidation.ValidateAnnotations(object.GetAnnotations(), at.Child("annotations"))
	errs = append(errs, podrules.Workload(object)...)
	_, isSecret := object.(*corev1.Secret)
	if isSecret { // the checker checks the labels of all others
		errs = append(errs, metav1validation.ValidateLabels(object.GetLabels(), at.Child("labels"))...)
	}
	for _, e := range errs {
		found = append(found, diag.InvalidObject.At("", "%s", refuses+"it: "+e.Error()))
	}
	if !isSecret {
		checker := newChecker(out.grafanaAgent)
		checker.namesFields = true
		found = append(found, checker.check(object)...)
	}
	return found
}
