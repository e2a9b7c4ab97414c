package generator

import (
	"runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
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

// memory estimates the memory that rendering the missing units takes, without that of stored files. A small text can
// render to any size, because each of many agents can select each of many monitors, and each of many endpoints repeats
// a part of its monitor.
func (out *Output) memory() int64 {
	o, set := &out.renderer.opts, out.renderer.set
	var all, largest int64
	for i, h := range out.Hierarchies {
		if out.alone[i] != nil {
			continue
		}
		size := bytesPerUnit + copiesOfText*compile.Bytes(h)
		for object := range h.Objects {
			size += int64(object.Bytes) + copiesOfWrittenBy*int64(handWritten(object, set))
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
