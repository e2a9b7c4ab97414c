package generator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/rbac"
)

// Accounts returns the ServiceAccounts of the units' pods that are rendered, with what they need of the Kubernetes API,
// by namespace and name.
func Accounts(units []*Unit) []rbac.Account {
	byID := map[manifest.ID]rbac.Account{}
	for _, u := range units {
		if u.Hierarchy == nil || u.Paused || u.Failed { // copies of other objects run no pods that are known
			continue
		}
		a := byID[u.account()]
		byID[u.account()] = rbac.Account{ID: u.account(), Needs: rbac.Merge(a.Needs, u.needs)}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b rbac.Account) int { return a.Compare(b.ID) })
}

// account returns the ServiceAccount of the unit's pods.
func (u *Unit) account() manifest.ID {
	agent := u.Hierarchy.Agent
	return manifest.ID{Kind: "ServiceAccount", Namespace: agent.Namespace,
		Name: cmp.Or(u.Hierarchy.Spec().ServiceAccountName, rbac.Default)}
}

// UnneededRights returns findings for what the Roles of a set allow to pods of the units, and these do not need. What
// pods of a unit need that is not rendered is not known, so nothing is said about their ServiceAccount.
func UnneededRights(set *manifest.Set, units []*Unit) diag.List {
	unknown := map[manifest.ID]bool{}
	for _, u := range units {
		if u.Hierarchy != nil && (u.Paused || u.Failed) {
			unknown[u.account()] = true
		}
	}
	known := slices.DeleteFunc(Accounts(units), func(a rbac.Account) bool { return unknown[a.ID] })
	return rbac.NewGrants(set.Rights()).Unneeded(known)
}

// hasAccount reports whether a ServiceAccount is in the inputs.
func hasAccount(set *manifest.Set, id manifest.ID) bool {
	_, named := set.Named()[id]
	return named || set.Find(id) != nil
}

// missingRights warns about what the Roles and bindings of the inputs do not let pods do.
func (r renderer) missingRights(units []*Unit) diag.List {
	objects := r.set.Rights()
	if len(objects) == 0 || r.opts.RenderRights {
		return nil
	}
	var list diag.List
	grants := rbac.NewGrants(objects)
	for _, a := range Accounts(units) {
		list = append(list, r.unbound(a, grants, units)...)
		for _, d := range grants.Missing(a) {
			for _, u := range units {
				if u.Hierarchy != nil && u.account() == a.ID {
					d.Units = append(d.Units, u.Name)
				}
			}
			list = append(list, d)
		}
	}
	return list
}

// unbound warns of pods that have no rights at all, at each GrafanaAgent whose pods run as the account and need some.
func (r renderer) unbound(a rbac.Account, grants *rbac.Grants, units []*Unit) (list diag.List) {
	if !grants.IsUnbound(a, hasAccount(r.set, a.ID)) || r.set.MayLack("RoleBinding") ||
		r.set.MayLack("ClusterRoleBinding") {
		return nil
	}
	for _, u := range units {
		need := rbac.First(u.needs)
		if need == nil || u.Paused || u.Failed || u.account() != a.ID {
			continue
		}
		finds := need.By.String() + " finds"
		if need.Others > 0 || slices.ContainsFunc(u.needs, func(n rbac.Need) bool { return n.By != need.By }) {
			finds = need.By.String() + " and others find"
		}
		d := diag.MissingPermission.At("spec.serviceAccountName",
			"no binding in the inputs names ServiceAccount %s/%s: %s nothing", a.Namespace, a.Name, finds)
		d.Hint = "agentry rbac prints the roles and bindings that it needs"
		if u.Hierarchy.Spec().ServiceAccountName == "" {
			d.Message = "is not set, so the pods run as default: " + d.Message
			d.Hint = "name a ServiceAccount; agentry rbac prints it with the roles and bindings that it needs"
		}
		d.Related, d.Units = []diag.Object{need.By}, []string{u.Name}
		list = append(list, u.Hierarchy.Agent.Place(d))
	}
	return list
}
