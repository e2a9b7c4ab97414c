package workload

import (
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/agentry-dev/agentry/generator/diag"
)

// mergeContainers merges spec.containers into the generated containers by name, with Kubernetes' strategic
// merge patch, and appends the others. Of several patches with one name, the last one is used.
func mergeContainers(generated, patches []corev1.Container) (out []corev1.Container, findings diag.List) {
	last := map[string]int{}
	for i := range patches {
		last[patches[i].Name] = i
	}
	isGenerated := map[string]bool{}
	for _, c := range generated {
		isGenerated[c.Name] = true
		if i, ok := last[c.Name]; ok {
			merged, err := mergeContainer(c, patches[i])
			if err != nil {
				findings = append(findings, diag.InvalidContainer.At("spec.containers["+strconv.Itoa(i)+"]", "%s",
					"cannot be merged into container "+c.Name+": "+err.Error()))
			}
			c = merged
		}
		out = append(out, c)
	}
	for i := range patches {
		if !isGenerated[patches[i].Name] {
			out = append(out, patches[i])
		}
	}
	return out, findings
}

func mergeContainer(c, patch corev1.Container) (corev1.Container, error) {
	original, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return c, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, change, corev1.Container{})
	if err != nil {
		return c, err
	}
	var out corev1.Container
	return out, json.Unmarshal(merged, &out)
}
