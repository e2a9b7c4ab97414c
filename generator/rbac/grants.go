package rbac

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Grants are the rights that the Roles and bindings in the inputs grant.
type Grants struct {
	roles map[manifest.ID][]*manifest.Object
	// bindings has the bindings of an account, of all accounts in a namespace (empty name) and of all accounts (empty
	// namespace).
	bindings map[manifest.ID][]*manifest.Object
}

// NewGrants returns the grants of the given Roles, ClusterRoles and bindings. All definitions of the same object are
// in effect: they may be for different clusters.
func NewGrants(objects []*manifest.Object) *Grants {
	g := &Grants{roles: map[manifest.ID][]*manifest.Object{}, bindings: map[manifest.ID][]*manifest.Object{}}
	for _, o := range objects {
		switch v := o.Value().(type) {
		case *rbacv1.Role, *rbacv1.ClusterRole:
			g.roles[o.ID] = append(g.roles[o.ID], o)
		case *rbacv1.RoleBinding:
			g.bind(o, v.Subjects)
		case *rbacv1.ClusterRoleBinding:
			g.bind(o, v.Subjects)
		}
	}
	return g
}

func (g *Grants) bind(binding *manifest.Object, subjects []rbacv1.Subject) {
	for _, s := range subjects {
		account, ok := accounts(s, binding.Namespace)
		// several subjects may be the same account
		if bound := g.bindings[account]; ok && (len(bound) == 0 || bound[len(bound)-1] != binding) {
			g.bindings[account] = append(bound, binding)
		}
	}
}

// accounts returns the ServiceAccount that a subject of a binding names, or the ServiceAccounts of a group.
func accounts(s rbacv1.Subject, namespace string) (id manifest.ID, ok bool) {
	id.Kind = rbacv1.ServiceAccountKind
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		id.Namespace, id.Name = cmp.Or(s.Namespace, namespace), s.Name
		return id, true
	case rbacv1.UserKind:
		user, found := strings.CutPrefix(s.Name, "system:serviceaccount:")
		id.Namespace, id.Name, ok = strings.Cut(user, ":")
		return id, found && ok
	}
	if namespace, ok := strings.CutPrefix(s.Name, "system:serviceaccounts:"); ok {
		id.Namespace = namespace
		return id, s.Kind == rbacv1.GroupKind
	}
	return id, s.Kind == rbacv1.GroupKind && (s.Name == "system:serviceaccounts" || s.Name == "system:authenticated")
}

// scope has the rights of an account in one namespace, or in the whole cluster.
type scope struct {
	rules []rbacv1.PolicyRule
	// place is a role that grants the rights to the account by its name, or a binding if no role is in the inputs. It
	// is nil if only roles for groups of accounts do: these are for another program.
	place *manifest.Object
	// open means that a role may grant more than the inputs say.
	open bool
	// missing caches the answers of [scope.lacks], by the right without its namespace: discoveries ask for the same in
	// many namespaces.
	missing map[Right][]rbacv1.PolicyRule
}

// lacks returns the part of a right that a scope does not grant, as one rule for each verb.
func (s *scope) lacks(right Right) []rbacv1.PolicyRule {
	right.Namespace = ""
	missing, known := s.missing[right]
	if !known {
		_, missing = validation.Covers(s.rules, []rbacv1.PolicyRule{right.Rule()})
		if s.missing == nil {
			s.missing = map[Right][]rbacv1.PolicyRule{}
		}
		s.missing[right] = missing
	}
	return missing
}

// of returns the rights of an account in each namespace, and at "" in the whole cluster. It is empty if no binding has
// the account.
func (g *Grants) of(account manifest.ID) map[string]*scope {
	out := map[string]*scope{}
	for _, id := range []manifest.ID{account, {Kind: account.Kind, Namespace: account.Namespace},
		{Kind: account.Kind}} {
		for _, binding := range g.bindings[id] {
			if out[binding.Namespace] == nil {
				out[binding.Namespace] = &scope{}
			}
			g.grant(out[binding.Namespace], binding, id.Name == "")
		}
	}
	return out
}

// grant adds the rights that a binding grants, maybe to a group of accounts.
func (g *Grants) grant(s *scope, binding *manifest.Object, toGroup bool) {
	roles := g.roles[roleOf(binding)]
	if len(roles) == 0 {
		s.open = true
		if s.place == nil && !toGroup {
			s.place = binding
		}
		return
	}
	if !toGroup {
		s.place = roles[0]
	}
	for _, role := range roles {
		rules, open := g.rules(role, map[*manifest.Object]bool{})
		s.rules, s.open = append(s.rules, rules...), s.open || open
	}
}

// roleOf returns the role that a binding refers to.
func roleOf(binding *manifest.Object) manifest.ID {
	var ref rbacv1.RoleRef
	switch v := binding.Value().(type) {
	case *rbacv1.RoleBinding:
		ref = v.RoleRef
	case *rbacv1.ClusterRoleBinding:
		ref = v.RoleRef
	}
	id := manifest.ID{Kind: ref.Kind, Name: ref.Name}
	if ref.Kind == "Role" {
		id.Namespace = binding.Namespace
	}
	return id
}

// rules returns the rules of a role. An aggregated ClusterRole has the rules of every role its selectors match; its own
// are overwritten.
func (g *Grants) rules(role *manifest.Object, seen map[*manifest.Object]bool) (rules []rbacv1.PolicyRule, open bool) {
	if v, ok := role.Value().(*rbacv1.Role); ok {
		return v.Rules, false
	}
	v := manifest.As[rbacv1.ClusterRole](role)
	if v.AggregationRule == nil {
		return v.Rules, false
	}
	seen[role] = true
	open = true
	for _, selector := range v.AggregationRule.ClusterRoleSelectors {
		matches, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			continue // the API server refuses the role
		}
		for id, others := range g.roles {
			for _, other := range others {
				if id.Kind != "ClusterRole" || seen[other] || !matches.Matches(other.Labels) {
					continue
				}
				more, itsOpen := g.rules(other, seen)
				rules, open = append(rules, more...), itsOpen
			}
		}
	}
	return rules, open || aggregatesTheClusters(v.AggregationRule)
}

// aggregatesTheClusters reports whether an aggregated role has rules of roles that every cluster has.
func aggregatesTheClusters(rule *rbacv1.AggregationRule) bool {
	const defaults = "rbac.authorization.k8s.io/"
	return slices.ContainsFunc(rule.ClusterRoleSelectors, func(s metav1.LabelSelector) bool {
		for key := range s.MatchLabels {
			if strings.HasPrefix(key, defaults) {
				return true
			}
		}
		return len(s.MatchLabels) == 0 // matches nothing, or has expressions
	})
}
