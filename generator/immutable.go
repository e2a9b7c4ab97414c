package generator

import (
	"bytes"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// immutableField returns the field in which a workload differs from what the unit was last rendered to, although
// Kubernetes lets nobody change it; "" if there is none.
func (r renderer) immutableField(unit string, f *File) string {
	if r.opts.LastGood == nil || !workload.IsWorkload(f.Object.Kind) {
		return ""
	}
	old := r.opts.LastGood.Written(unit, f.Path)
	if old == nil || bytes.Equal(old, f.Text()) {
		return ""
	}
	return workload.ImmutableChange(workload.Workload(f.Object.Kind, nil, old), f.Workload())
}

// changesImmutable reports whether a file of a unit changes what Kubernetes lets nobody change.
func (r renderer) changesImmutable(u *Unit) bool {
	return slices.ContainsFunc(u.Files, func(f File) bool { return r.immutableField(u.Name, &f) != "" })
}

// immutableError returns the error, of the object to blame, about a change of a field that Kubernetes lets nobody
// change.
func immutableError(blamed *manifest.Object, id manifest.ID, field string) diag.Diagnostic {
	return blamed.Place(diag.ImmutableField.At("spec",
		"%s: %s differs from what is on the output branch, and Kubernetes lets nobody change it on an existing object",
		id, field).WithHint("revert the change; or delete the workload in the cluster (kubectl delete " +
		"--cascade=orphan keeps its pods) and its file on the output branch"))
}
