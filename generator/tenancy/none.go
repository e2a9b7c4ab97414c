package tenancy

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// None warns that nothing in a set is a tenant's although folders of tenants are named: a typo there lets everybody do
// everything. found is what else was found.
func None(folders string, set *manifest.Set, found diag.List) diag.List {
	if folders == "" ||
		slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code == diag.Tenancy }) ||
		slices.ContainsFunc(set.All(), func(o *manifest.Object) bool { return o.Tenant != "" }) {
		return nil
	}
	return diag.List{{Severity: diag.Warning, Code: diag.NoTenant,
		Message: "no object is a tenant's: no file that is read is in " + folders +
			" (spec.tenancy.folders), and all count as the platform's",
		Hint: "correct the pattern, which counts from the top of the repository; or wait until there is such a file"}}
}
