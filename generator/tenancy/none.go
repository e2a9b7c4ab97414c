package tenancy

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// None warns that the pipeline names folders of tenants but no object in the set belongs to a tenant: with a typo
// there, everybody may do everything. found has the other findings.
func None(folders string, set *manifest.Set, found diag.List) diag.List {
	if folders == "" ||
		slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code == diag.Tenancy }) ||
		slices.ContainsFunc(set.All(), func(o *manifest.Object) bool { return o.Tenant != "" }) {
		return nil
	}
	return diag.List{{Severity: diag.Warning, Code: diag.NoTenant,
		Message: "no object belongs to a tenant: no input file is in " + folders +
			" (spec.tenancy.folders), so all objects count as the platform's",
		Hint: "correct the pattern, which is relative to the top of the repository; or ignore this until " +
			"such a file exists"}}
}
