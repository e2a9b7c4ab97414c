package generator

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// reprint renders a unit once more, from the objects that it was rendered from, and returns its configurations.
func (r renderer) reprint(u *Unit) explain.Printed {
	standIns, leftOut := map[manifest.ID]*manifest.Object{}, map[manifest.ID]bool{}
	for _, h := range u.Held {
		if h.StandIn == nil {
			leftOut[h.ID] = true
			continue
		}
		standIns[h.ID] = h.StandIn
	}
	set := r.set
	if len(standIns) > 0 {
		set = set.With(standIns)
	}
	config := r.build(u.Hierarchy, set, leftOut)
	if config.Diags.HasErrors() {
		return explain.Printed{} // only a unit that is rendered is printed
	}
	out := explain.Printed{Configs: config.All()}
	objects, _, _ := r.workloads(u.Hierarchy, config)
	for i := range objects {
		o := &objects[i]
		if set, isSet := o.Value.(*appsv1.StatefulSet); isSet {
			out.ShardMemory = append(out.ShardMemory, r.shardMemory(set)...)
		}
		if readable, ok := o.Readable(); ok {
			out.Files = append(out.Files, explain.File{Path: u.Name + "/" + readable.Name, Bytes: len(readable.Bytes),
				Parts: readable.Parts})
		}
	}
	return out
}

// shardMemory returns the memory of the shards of a StatefulSet: it is one of them, but with pods that share their
// targets each pod is.
func (r renderer) shardMemory(set *appsv1.StatefulSet) []int64 {
	shards := 1
	if pods := set.Spec.Replicas; r.opts.Runtime.Clusters && pods != nil {
		shards = min(int(*pods), compile.MaxShards) // somebody may ask for two billion pods
	}
	return slices.Repeat([]int64{memoryOf(&set.Spec.Template.Spec, r.opts.Runtime.Container)}, shards)
}

// memoryOf returns how much memory a container of a pod may use: its limit, or else what it requests.
func memoryOf(pod *corev1.PodSpec, container string) int64 {
	for _, c := range pod.Containers {
		if c.Name != container {
			continue
		}
		if limit := c.Resources.Limits.Memory(); !limit.IsZero() {
			return limit.Value()
		}
		return c.Resources.Requests.Memory().Value()
	}
	return 0
}
