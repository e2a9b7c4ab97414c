package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// breaches reports the settings of tenants' objects in a hierarchy that tenancy forbids. Objects that are left out ask
// for nothing, and nobody selects them.
func (r renderer) breaches(h *hierarchy.Hierarchy, found diag.List, leftOut map[manifest.ID]bool) diag.List {
	hasTenants := false
	h.Objects(func(o *manifest.Object) bool {
		hasTenants = hasTenants || o.Tenant != ""
		return !hasTenants
	})
	if !hasTenants {
		return nil
	}
	breaches := append(r.opts.Tenancy.Check(h.Without(leftOut)), r.opts.Tenancy.Files(h, found)...)
	return slices.DeleteFunc(breaches, func(d diag.Diagnostic) bool {
		return leftOut[manifest.IDOf(d.Object)]
	})
}
