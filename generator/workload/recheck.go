package workload

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/podrules"
)

// recheck returns the object of a changed manifest, and what Kubernetes would refuse in it and not in the object that it was made of.
func (out *output) recheck(original any, text []byte) (changed any, found []diag.Finding) {
	changed = reflect.New(reflect.TypeOf(original).Elem()).Interface()
	if err := yaml.UnmarshalStrict(text, changed); err != nil {
		message := err.Error()
		if i := strings.LastIndex(message, "json: "); i >= 0 {
			message = message[i+len("json: "):]
		}
		return original, []diag.Finding{{Severity: diag.Error, Code: diag.InvalidObject, Message: refuses + "it: " + message}}
	}
	known := out.refusals(original)
	for _, f := range out.refusals(changed) {
		if slices.ContainsFunc(known, func(k diag.Finding) bool { return k.Message == f.Message }) {
			continue
		}
		if rest, ok := strings.CutPrefix(f.Message, refuses+"it: "); ok && f.Path != "" {
			f.Message = refuses + "it: " + f.Path + ": " + rest
		}
		found = append(found, f)
	}
	return changed, append(found, out.replacedArguments(original, changed)...)
}

// replacedArguments reports arguments that a change takes from the containers of a workload.
func (out *output) replacedArguments(original, changed any) (found []diag.Finding) {
	after := containersOf(changed)
	for _, own := range containersOf(original) {
		if i := slices.IndexFunc(after, func(c corev1.Container) bool { return c.Name == own.Name }); i >= 0 {
			found = append(found, out.missingArguments("", &own, &after[i])...)
		}
	}
	return found
}

// containersOf returns the containers of a workload's pods.
func containersOf(object any) []corev1.Container {
	if pods := Pods(object); pods != nil {
		return pods.Spec.Containers
	}
	return nil
}

// Pods returns the template for the pods of a StatefulSet, DaemonSet or Deployment, and nil for any other object.
func Pods(object any) *corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	}
	return nil
}

// refusals returns what Kubernetes would refuse in an object, and what it would warn of.
func (out *output) refusals(object any) (found []diag.Finding) {
	meta := object.(metav1.Object)
	at := field.NewPath("metadata")
	errs := apivalidation.ValidateAnnotations(meta.GetAnnotations(), at.Child("annotations"))
	errs = append(errs, podrules.Workload(object)...)
	_, isSecret := object.(*corev1.Secret)
	if isSecret { // the checker knows the labels of all others
		errs = append(errs, metav1validation.ValidateLabels(meta.GetLabels(), at.Child("labels"))...)
	}
	for _, e := range errs {
		found = append(found, diag.Finding{Severity: diag.Error, Code: diag.InvalidObject, Message: refuses + "it: " + e.Error()})
	}
	if !isSecret {
		checker := newChecker(out.grafanaAgent)
		found = append(found, checker.check(object)...)
	}
	return found
}
