package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Unneeded returns findings about rights that the Roles and ClusterRoles in the inputs grant to accounts but no pod
// needs. The accounts must be all accounts that agentry renders pods for. Roles that are also bound to another subject
// or aggregated are not reported. Likely needs count as needed.
func (g *Grants) Unneeded(accounts []Account) (out diag.List) {
	needs := map[manifest.ID][]Need{}
	for _, a := range accounts {
		needs[a.ID] = a.Needs
	}
	bound := g.bound(needs)
	for _, role := range slices.SortedFunc(maps.Keys(bound), func(x, y *manifest.Object) int {
		return cmp.Or(x.Compare(y.ID), strings.Compare(x.File(), y.File()))
	}) {
		for i, rule := range rulesOf(role) {
			if spare := unneededIn(rule, bound[role]); spare != "" {
				d := role.Place(diag.UnneededPermission.At(fmt.Sprintf("rules[%d]", i), "no pod needs %s", spare))
				d.Hint = "remove it; agentry rbac prints all that is needed"
				out = append(out, d)
			}
		}
	}
	return out
}

// bound returns the roles that are bound to the accounts only, with the needs of these accounts where they are bound.
func (g *Grants) bound(needs map[manifest.ID][]Need) map[*manifest.Object][]Need {
	out, others := map[*manifest.Object][]Need{}, map[*manifest.Object]bool{}
	for account, bindings := range g.bindings {
		for _, binding := range bindings {
			of, known := needs[account]
			for _, role := range g.roles[roleOf(binding)] {
				others[role] = others[role] || !known
				for _, need := range of {
					if binding.Namespace == "" || need.Namespace == "" || need.Namespace == binding.Namespace {
						out[role] = append(out[role], need)
					}
				}
				if out[role] == nil && known {
					out[role] = []Need{}
				}
			}
		}
	}
	maps.DeleteFunc(out, func(role *manifest.Object, _ []Need) bool { return others[role] })
	return out
}

// rulesOf returns the rules of a role, or nil for an aggregated role, whose own rules are overwritten.
func rulesOf(role *manifest.Object) []rbacv1.PolicyRule {
	switch v := role.Value().(type) {
	case *rbacv1.Role:
		return v.Rules
	case *rbacv1.ClusterRole:
		if v.AggregationRule == nil {
			return v.Rules
		}
	}
	return nil
}

// unneededIn names the rights that a rule grants but nobody needs, or returns "".
func unneededIn(rule rbacv1.PolicyRule, needs []Need) string {
	verbs := map[string][]string{} // by resource or path
	for _, part := range validation.BreakdownRule(rule) {
		if slices.ContainsFunc(needs, func(n Need) bool { return uses(n, part) }) {
			continue
		}
		on := strings.Join(part.NonResourceURLs, "")
		if len(part.Resources) > 0 {
			on = strings.TrimSuffix(part.Resources[0]+"."+part.APIGroups[0], ".")
		}
		if !slices.Contains(verbs[on], part.Verbs[0]) {
			verbs[on] = append(verbs[on], part.Verbs[0])
		}
	}
	byVerbs := map[string][]string{}
	for _, on := range slices.Sorted(maps.Keys(verbs)) {
		what := inWords(slices.Sorted(slices.Values(verbs[on])))
		byVerbs[what] = append(byVerbs[what], on)
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(byVerbs)) {
		out = append(out, what+" of "+inWords(byVerbs[what]))
	}
	return strings.Join(out, ", or ")
}

// uses reports whether a need uses a part of a rule: one verb on one thing.
func uses(n Need, part rbacv1.PolicyRule) bool {
	need := n.Rule()
	if need.NonResourceURLs == nil && len(part.ResourceNames) > 0 {
		return false // discoveries list all objects
	}
	for _, piece := range validation.BreakdownRule(need) {
		if covers, _ := validation.Covers([]rbacv1.PolicyRule{part}, []rbacv1.PolicyRule{piece}); covers {
			return true
		}
	}
	return false
}
