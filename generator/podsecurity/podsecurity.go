// Package podsecurity finds what the Pod Security Standards of Kubernetes forbid in rendered pods, by the library that
// the API server asks.
package podsecurity

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Levels returns the levels that forbid something, the laxer one first.
func Levels() []string { return []string{string(api.LevelBaseline), string(api.LevelRestricted)} }

// Workload is a rendered StatefulSet, DaemonSet or Deployment.
type Workload struct {
	Kind, Namespace, Name string
	Labels                map[string]string
	Pods                  *corev1.PodTemplateSpec
}

const (
	typeLabel = "agentry.dev/workload"

	patchHint = "set it by a patch in the pipeline, or in spec.securityContext and spec.containers of the GrafanaAgent"
	nodeHint  = "pods that read files of their node need it: keep them in a namespace with the label " +
		"pod-security.kubernetes.io/enforce=privileged, apart from what runs without"
)

// Check reports the settings that a level forbids in workloads of one GrafanaAgent; a setting that several shards have
// is reported once.
func Check(level string, workloads []Workload) (diag.List, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	type forbidden struct{ workload, reason string }
	seen := map[forbidden]int{}
	var found diag.List
	for _, w := range workloads {
		version := api.LevelVersion{Level: api.Level(level), Version: api.LatestVersion()}
		for _, r := range evaluator.EvaluatePod(version, &w.Pods.ObjectMeta, &w.Pods.Spec) {
			key := forbidden{cmp.Or(w.Labels[typeLabel], w.Name), r.ForbiddenReason}
			if seen[key]++; r.Allowed || seen[key] > 1 {
				continue
			}
			f := diag.PodSecurity.At("", "%s %s/%s: the level %s forbids %s: %s", w.Kind, w.Namespace, w.Name, level,
				r.ForbiddenReason, r.ForbiddenDetail).WithHint(patchHint)
			if readsNode(&w.Pods.Spec) && slices.Contains([]string{"hostPath volumes", "restricted volume types",
				"privileged"}, r.ForbiddenReason) {
				f.Hint = nodeHint
			}
			found = append(found, f)
		}
	}
	return found, nil
}

// readsNode reports whether pods mount files of their node.
func readsNode(pod *corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
}
