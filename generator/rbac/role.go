package rbac

import (
	"maps"
	"slices"
	"strings"

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
	certain := Account{a.ID, slices.DeleteFunc(slices.Clone(a.Needs), func(n Need) bool { return n.Likely })}
	byNamespace := certain.byNamespace()
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		resources := map[[2]string][]string{} // by group and verbs
		for _, need := range byNamespace[namespace] {
			kind := [2]string{need.Group, need.Verbs}
			resources[kind] = append(resources[kind], need.Resource)
		}
		role := Role{Namespace: namespace}
		for _, kind := range slices.SortedFunc(maps.Keys(resources), func(x, y [2]string) int {
			return slices.Compare(x[:], y[:])
		}) {
			names := slices.Compact(slices.Sorted(slices.Values(resources[kind])))
			role.Rules = append(role.Rules,
				rbacv1.PolicyRule{APIGroups: []string{kind[0]}, Resources: names, Verbs: strings.Split(kind[1], ",")})
		}
		out = append(out, role)
	}
	return out
}
