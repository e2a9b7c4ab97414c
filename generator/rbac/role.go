package rbac

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Role has the rights of pods in a namespace or, without one, in the whole cluster.
type Role struct {
	Namespace string
	Rules     []rbacv1.PolicyRule
}

// Roles returns exactly the rights that the discoveries of an account need. It leaves out likely needs, because these
// rights, such as nodes/proxy, can be large. The order of the rules depends on the rights only, and not on the objects
// that need them.
func (a Account) Roles() (out []Role) {
	type kind struct {
		group string
		verbs Verbs
	}
	certain := Account{a.ID, slices.DeleteFunc(slices.Clone(a.Needs), func(n Need) bool { return n.Likely })}
	byNamespace := certain.byNamespace()
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		resources := map[kind][]string{}
		for _, need := range byNamespace[namespace] {
			k := kind{need.Group, need.Verbs}
			resources[k] = append(resources[k], need.Resource)
		}
		role := Role{Namespace: namespace}
		for _, k := range slices.SortedFunc(maps.Keys(resources), func(x, y kind) int {
			return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.verbs, y.verbs))
		}) {
			names := slices.Compact(slices.Sorted(slices.Values(resources[k])))
			role.Rules = append(role.Rules,
				rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: names, Verbs: k.verbs.List()})
		}
		out = append(out, role)
	}
	return out
}
