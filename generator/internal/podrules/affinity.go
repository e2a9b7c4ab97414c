package podrules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The two lists of terms in every kind of affinity.
const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func affinity(a *corev1.Affinity, path *field.Path) (errs field.ErrorList) {
	if a == nil {
		return nil
	}
	if n := a.NodeAffinity; n != nil {
		path := path.Child("nodeAffinity")
		if s := n.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
			terms := path.Child(requiredTerms, "nodeSelectorTerms")
			if len(s.NodeSelectorTerms) == 0 {
				errs = append(errs, field.Required(terms, "must have at least one term"))
			}
			for i := range s.NodeSelectorTerms {
				errs = append(errs, nodeTerm(&s.NodeSelectorTerms[i], true, terms.Index(i))...)
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p, path := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferredTerms).Index(i)
			errs = append(errs, inRange(path.Child("weight"), int64(p.Weight), 1, 100)...)
			errs = append(errs, nodeTerm(&p.Preference, false, path.Child("preference"))...)
		}
	}
	for _, t := range podTerms(a, path) {
		errs = append(errs, podTerm(t.PodAffinityTerm, t.path)...)
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, weights(p.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAffinity", preferredTerms))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, weights(p.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAntiAffinity", preferredTerms))...)
	}
	return errs
}

func weights(list []corev1.WeightedPodAffinityTerm, path *field.Path) (errs field.ErrorList) {
	for i := range list {
		errs = append(errs, inRange(path.Index(i).Child("weight"), int64(list[i].Weight), 1, 100)...)
	}
	return errs
}

// located is an affinity term with its path.
type located struct {
	*corev1.PodAffinityTerm
	path *field.Path
}

// podTerms returns all terms of pod affinity and pod anti-affinity.
func podTerms(a *corev1.Affinity, path *field.Path) (terms []located) {
	if a == nil {
		return nil
	}
	add := func(must []corev1.PodAffinityTerm, may []corev1.WeightedPodAffinityTerm, path *field.Path) {
		for i := range must {
			terms = append(terms, located{&must[i], path.Child(requiredTerms).Index(i)})
		}
		for i := range may {
			terms = append(terms, located{&may[i].PodAffinityTerm,
				path.Child(preferredTerms).Index(i).Child("podAffinityTerm")})
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAffinity"))
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAntiAffinity"))
	}
	return terms
}

// nodeTerm checks a term of node affinity. Kubernetes does not check the values of a preferred term.
func nodeTerm(t *corev1.NodeSelectorTerm, required bool, path *field.Path) (errs field.ErrorList) {
	for i, r := range t.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, metavalidation.ValidateLabelName(r.Key, path.Child("key"))...)
		for j, v := range r.Values {
			if required {
				errs = append(errs, invalid(path.Child("values").Index(j), v, validation.IsValidLabelValue(v))...)
			}
		}
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(r.Values) == 0 {
				errs = append(errs, field.Required(path.Child("values"), "In and NotIn need values"))
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(r.Values) > 0 {
				errs = append(errs, field.Forbidden(path.Child("values"), "Exists and DoesNotExist have no values"))
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(r.Values) != 1 {
				errs = append(errs, field.Required(path.Child("values"), "Gt and Lt need one value"))
			}
		default:
			errs = append(errs, field.Invalid(path.Child("operator"), r.Operator,
				"must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt"))
		}
	}
	for i, r := range t.MatchFields {
		path := path.Child("matchFields").Index(i)
		errs = append(errs, oneOf(path.Child("key"), r.Key, "metadata.name")...)
		errs = append(errs, oneOf(path.Child("operator"), r.Operator, corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpNotIn)...)
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(path.Child("values"), "needs one value"))
		}
		for j, v := range r.Values {
			errs = append(errs, invalid(path.Child("values").Index(j), v, validation.IsDNS1123Subdomain(v))...)
		}
	}
	return errs
}

func podTerm(t *corev1.PodAffinityTerm, path *field.Path) (errs field.ErrorList) {
	options := metavalidation.LabelSelectorValidationOptions{}
	errs = append(errs, metavalidation.ValidateLabelSelector(t.LabelSelector, options, path.Child("labelSelector"))...)
	errs = append(errs, metavalidation.ValidateLabelSelector(t.NamespaceSelector, options,
		path.Child("namespaceSelector"))...)
	for i, name := range t.Namespaces {
		errs = append(errs, invalid(path.Child("namespaces").Index(i), name, validation.IsDNS1123Label(name))...)
	}
	errs = append(errs, labelKeys(t.MatchLabelKeys, t.MismatchLabelKeys, t.LabelSelector, path)...)
	return append(errs, metavalidation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey"))...)
}

// labelKeys checks matchLabelKeys and mismatchLabelKeys: Kubernetes adds the values of these labels of the pod
// to the selector.
func labelKeys(match, mismatch []string, selector *metav1.LabelSelector, path *field.Path) (errs field.ErrorList) {
	for i, keys := range [][]string{match, mismatch} {
		path := path.Child([]string{"matchLabelKeys", "mismatchLabelKeys"}[i])
		if len(keys) > 0 && selector == nil {
			errs = append(errs, field.Forbidden(path, "needs a labelSelector"))
		}
		for j, k := range keys {
			errs = append(errs, metavalidation.ValidateLabelName(k, path.Index(j))...)
		}
	}
	for i, k := range match {
		path := path.Child("matchLabelKeys").Index(i)
		if slices.Contains(mismatch, k) {
			errs = append(errs, field.Invalid(path, k, "is in mismatchLabelKeys too"))
		}
		if selector != nil && selects(selector, k) {
			errs = append(errs, field.Invalid(path, k, "is in the labelSelector too"))
		}
	}
	return errs
}

func selects(s *metav1.LabelSelector, key string) bool {
	_, ok := s.MatchLabels[key]
	return ok || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == key
	})
}
