package generator

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Explained returns the output for package explain. It keeps no bytes of units.
func (out *Output) Explained() explain.Render {
	r := out.renderer
	of := explain.Render{Set: r.set, AgentSelector: r.opts.AgentSelector, Ignore: r.opts.Ignore,
		Diags: out.Diags}
	for _, u := range out.Units {
		name, h, held := u.Name, u.Hierarchy, u.Held
		of.Units = append(of.Units, explain.Unit{
			Name: name, Hierarchy: h, Paused: u.Paused, Failed: u.Failed, Held: held, Runtime: u.Runtime,
			Names: u.names,
			Print: func() explain.Printed { return r.explained(name, h, held) },
		})
	}
	return of
}

// explained renders a unit once more, from the objects that it was rendered from, and returns its configurations.
func (r renderer) explained(unit string, h *hierarchy.Hierarchy, held []Held) explain.Printed {
	set, leftOut := r.versions(held)
	config := r.build(h, set, leftOut)
	if config.Diags.HasErrors() {
		return explain.Printed{} // only a unit that is rendered is printed
	}
	out := explain.Printed{Configs: config.All()}
	objects, _, _ := r.workloads(h, config)
	for i := range objects {
		o := &objects[i]
		if set, isSet := o.Value.(*appsv1.StatefulSet); isSet {
			out.Shards = append(out.Shards, shardsOf(set, r.runtime(h))...)
		}
		if readable, ok := o.Readable(); ok {
			out.Files = append(out.Files, explain.File{Path: unit + "/" + readable.Name, Bytes: len(readable.Bytes),
				Parts: readable.Parts})
		}
	}
	return out
}

// shardsOf returns the shards of a StatefulSet: it is one of them, but with pods that share their targets each pod is.
func shardsOf(set *appsv1.StatefulSet, program runtimes.Runtime) []explain.Shard {
	shards := 1
	if pods := set.Spec.Replicas; program.Clusters && pods != nil {
		shards = min(int(*pods), compile.MaxShards) // somebody may ask for two billion pods
	}
	pod := &set.Spec.Template.Spec
	return slices.Repeat([]explain.Shard{{Memory: memoryOf(pod, program.Container),
		Values: runtimes.ShardValues(pod)}}, shards)
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
