package generator

import (
	"runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Estimates of the memory that rendering takes, measured: for a unit, and for a byte of its configurations. Each byte
// of hand-written jobs is a value, a model and a text for some time.
const (
	bytesPerUnit      = 64 << 10
	copiesOfText      = 2
	copiesOfWrittenBy = 8
	// copiesOfKept is for a byte of a file that keeps its values, and bytesPerLean for a unit whose files are stored.
	copiesOfKept = 8
	bytesPerLean = 24 << 10
)

// memoryFor estimates the memory that rendering takes, without that of stored files. A small text can render to any
// size, because each of many agents can select each of many monitors, and each of many endpoints repeats a part of its
// monitor.
func (o *Options) memoryFor(hierarchies []*hierarchy.Hierarchy, set *manifest.Set) int64 {
	var all, largest int64
	for _, h := range hierarchies {
		size := bytesPerUnit + copiesOfText*compile.Bytes(h)
		for o := range h.Objects {
			size += int64(o.Bytes) + copiesOfWrittenBy*int64(handWritten(o, set))
		}
		all, largest = all+size, max(largest, size)
	}
	if o.Store == nil {
		return all
	}
	return min(all, copiesOfKept*o.KeepBytes+largest*int64(runtime.GOMAXPROCS(0)))
}

// handWritten returns the bytes of the hand-written jobs that an instance adds.
func handWritten(o *manifest.Object, set *manifest.Set) int {
	var ref *corev1.SecretKeySelector
	switch value := o.Value.(type) {
	case *v1alpha1.MetricsInstance:
		ref = value.Spec.AdditionalScrapeConfigs
	case *v1alpha1.LogsInstance:
		ref = value.Spec.AdditionalScrapeConfigs
	}
	if ref == nil {
		return 0
	}
	secret := set.Get(manifest.ID{Kind: "Secret", Namespace: o.Namespace, Name: ref.Name})
	if secret == nil {
		return 0
	}
	return len(manifest.As[corev1.Secret](secret).Data[ref.Key])
}
