package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// addWithBudget adds a StatefulSet or Deployment, and the PodDisruptionBudget that the options give its pods.
func (out *output) addWithBudget(o Resource, kind string, selector *metav1.LabelSelector, findings diag.List) {
	out.addChecked(o, findings)
	if out.options.Budget == nil {
		return
	}
	given := out.options.Budget(manifest.ID{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, o.GetLabels())
	if given == nil {
		return
	}
	spec := *given
	spec.Selector = selector.DeepCopy()
	// As with the operator, the DaemonSet of integrations has the same selector; its pods lack this label.
	if kind == "Deployment" {
		spec.Selector.MatchExpressions = append(spec.Selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: appsv1.DefaultDeploymentUniqueLabelKey,
				Operator: metav1.LabelSelectorOpExists})
	}
	out.addChecked(&policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: out.meta(o.GetName(), managedLabels()), Spec: spec,
	}, nil)
}
