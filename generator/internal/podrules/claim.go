package podrules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Claim returns the first reason why Kubernetes would refuse the specification of a volume claim, with the path
// of the field below the specification. Both are empty for a valid one. Defaults must have been set. The rules come
// from ValidatePersistentVolumeClaimSpec in Kubernetes 1.36.
func Claim(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	for _, check := range []func(*corev1.PersistentVolumeClaimSpec) (string, string){accessProblem, sizeProblem,
		classProblem, selectorProblem, sourceProblem} {
		if field, problem := check(s); problem != "" {
			return field, problem
		}
	}
	return "", ""
}

func accessProblem(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	known := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany,
		corev1.ReadWriteOncePod}
	for _, mode := range s.AccessModes {
		if !slices.Contains(known, mode) {
			return "accessModes", fmt.Sprintf("%q is not one of %s", mode, join(known))
		}
	}
	switch {
	case len(s.AccessModes) == 0:
		return "accessModes", "a claim needs one of " + join(known)
	case slices.Contains(s.AccessModes, corev1.ReadWriteOncePod) &&
		slices.ContainsFunc(s.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
			return m != corev1.ReadWriteOncePod
		}):
		return "accessModes", "ReadWriteOncePod cannot be combined with another mode"
	}
	return "", ""
}

func sizeProblem(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	size, ok := s.Resources.Requests[corev1.ResourceStorage]
	switch {
	case !ok:
		return "resources.requests", "a claim needs a size (storage)"
	case size.Sign() <= 0:
		return "resources.requests[storage]", fmt.Sprintf("%s must be greater than zero", size.String())
	case size.MilliValue()%1000 != 0:
		return "resources.requests[storage]", fmt.Sprintf("%s is not a whole number of bytes", size.String())
	}
	return "", ""
}

func classProblem(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	for _, class := range []struct {
		field string
		name  *string
	}{{"storageClassName", s.StorageClassName}, {"volumeAttributesClassName", s.VolumeAttributesClassName}} {
		if class.name == nil || *class.name == "" {
			continue
		}
		for _, p := range validation.IsDNS1123Subdomain(*class.name) {
			return class.field, fmt.Sprintf("%q: %s", *class.name, p)
		}
	}
	modes := []corev1.PersistentVolumeMode{corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock}
	if s.VolumeMode != nil && !slices.Contains(modes, *s.VolumeMode) {
		return "volumeMode", fmt.Sprintf("%q is not one of %s", *s.VolumeMode, join(modes))
	}
	return "", ""
}

func selectorProblem(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	if s.Selector == nil {
		return "", ""
	}
	for _, e := range metavalidation.ValidateLabelSelector(s.Selector, metavalidation.LabelSelectorValidationOptions{},
		nil) {
		return "selector", e.Error()
	}
	return "", ""
}

func sourceProblem(s *corev1.PersistentVolumeClaimSpec) (field, problem string) {
	from, ref := s.DataSource, s.DataSourceRef
	if from != nil {
		if problem := referenceProblem(from.APIGroup, from.Kind, from.Name); problem != "" {
			return "dataSource", problem
		}
	}
	if ref == nil {
		return "", ""
	}
	if problem := referenceProblem(ref.APIGroup, ref.Kind, ref.Name); problem != "" {
		return "dataSourceRef", problem
	}
	elsewhere := ref.Namespace != nil && *ref.Namespace != ""
	if elsewhere {
		for _, p := range validation.IsDNS1123Label(*ref.Namespace) {
			return "dataSourceRef.namespace", fmt.Sprintf("%q: %s", *ref.Namespace, p)
		}
	}
	switch {
	case from == nil:
	case elsewhere:
		return "dataSource", "it cannot be combined with dataSourceRef.namespace"
	case group(from.APIGroup) != group(ref.APIGroup) || (from.APIGroup == nil) != (ref.APIGroup == nil) ||
		from.Kind != ref.Kind || from.Name != ref.Name:
		return "dataSource", "it must be the same object as dataSourceRef"
	}
	return "", ""
}

func referenceProblem(apiGroup *string, kind, name string) string {
	switch g := group(apiGroup); {
	case name == "" || kind == "":
		return "it needs a kind and a name"
	case g == "" && kind != "PersistentVolumeClaim":
		return fmt.Sprintf("a %s needs its apiGroup", kind)
	case g != "":
		for _, p := range validation.IsDNS1123Subdomain(g) {
			return fmt.Sprintf("the apiGroup %q: %s", g, p)
		}
	}
	return ""
}

func group(apiGroup *string) string {
	if apiGroup == nil {
		return ""
	}
	return *apiGroup
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return strings.Join(out, ", ")
}
