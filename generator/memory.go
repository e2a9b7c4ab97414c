package generator

import (
	"runtime"
	"sync"

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

// estimate is the memory that rendering takes, without that of stored files. A small text can render to any size,
// because each of many agents can select each of many monitors, and each of many endpoints repeats a part of its
// monitor.
type estimate struct {
	renderer
	mutex                  sync.Mutex
	all, largest, admitted int64
}

// admit asks whether one more unit may be rendered. Units that are stored are in memory as a whole only while they are
// rendered. Nothing is read again of objects that are already too large.
func (e *estimate) admit(h *hierarchy.Hierarchy) error {
	if e.opts.Admit == nil { // the estimate takes long
		return nil
	}
	size := int64(bytesPerUnit)
	for object := range h.Objects {
		size += int64(object.Bytes)
	}
	if err := e.take(size, size); err != nil {
		return err
	}
	text := copiesOfText * compile.Bytes(h)
	for object := range h.Objects {
		text += copiesOfWrittenBy * int64(handWritten(object, e.set))
	}
	return e.take(text, size+text)
}

// take asks for more bytes, for a unit of that size so far.
func (e *estimate) take(bytes, unit int64) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.all, e.largest = e.all+bytes, max(e.largest, unit)
	all := e.all
	if e.opts.Store != nil {
		all = min(all, copiesOfKept*e.opts.KeepBytes+e.largest*int64(runtime.GOMAXPROCS(0)))
	}
	more := all - e.admitted
	e.admitted = all
	return e.opts.Admit(more)
}

// handWritten returns the bytes of the hand-written jobs that an instance adds.
func handWritten(o *manifest.Object, set *manifest.Set) int {
	var ref *corev1.SecretKeySelector
	switch o.Kind {
	case v1alpha1.MetricsInstanceKind:
		ref = manifest.As[v1alpha1.MetricsInstance](o).Spec.AdditionalScrapeConfigs
	case v1alpha1.LogsInstanceKind:
		ref = manifest.As[v1alpha1.LogsInstance](o).Spec.AdditionalScrapeConfigs
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
