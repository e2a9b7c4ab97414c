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

// Account is a ServiceAccount with the needs of its pods.
type Account struct {
	manifest.ID
	Needs []Need
}

// Missing returns a finding for each need that is not granted to an account, if a binding in the inputs names the
// account. What a group of accounts may do (system:serviceaccounts:NAMESPACE, system:authenticated), the account may
// do, but such a role is another program's if it lacks something, as those that pull images on OpenShift. Namespaces
// that lack the same share one finding.
func (g *Grants) Missing(a Account) diag.List {
	if len(g.bindings[a.ID]) == 0 {
		return nil
	}
	granted := g.of(a.ID)
	everywhere := granted[""]
	if everywhere == nil {
		everywhere = &scope{}
	}
	lacks := map[place]*lack{}
	for _, need := range a.Needs {
		own := granted[need.Namespace]
		if need.Likely || everywhere.open || own != nil && own.open {
			continue
		}
		uncovered := everywhere.lacks(need.Right)
		if len(uncovered) > 0 && own != nil && own != everywhere {
			_, uncovered = validation.Covers(own.rules, uncovered)
		}
		var verbs []string
		for _, rule := range uncovered {
			verbs = append(verbs, rule.Verbs...)
		}
		if len(verbs) == 0 {
			continue
		}
		at := place{need.Namespace, strings.Join(verbs, ",")}
		if lacks[at] == nil {
			lacks[at] = &lack{namespaces: []string{need.Namespace}, verbs: verbs}
		}
		lacks[at].needs = append(lacks[at].needs, need)
	}
	var out diag.List
	for _, l := range grouped(lacks) {
		out = append(out, l.finding(a, granted))
	}
	return out
}

// IsUnbound reports whether no binding in the inputs has an account that needs rights, although they have roles. Roles
// may be somebody else's, and the account's own somewhere else. So one of these must be true: the account is the one
// that pods have by default, isKept says that it is in the inputs, or a role grants one of the needs and is bound only
// to accounts of the same namespace or name.
func (g *Grants) IsUnbound(a Account, isKept bool) bool {
	return len(g.roles) > 0 && First(a.Needs) != nil && len(g.of(a.ID)) == 0 &&
		(isKept || a.Name == Default || g.hasRoleFor(a))
}

// First returns the first need that is more than likely, or nil.
func First(needs []Need) *Need {
	i := slices.IndexFunc(needs, func(n Need) bool { return !n.Likely })
	if i < 0 {
		return nil
	}
	return &needs[i]
}

// Default is the ServiceAccount of pods that name none.
const Default = "default"

// hasRoleFor reports whether a role seems to be meant for an account.
func (g *Grants) hasRoleFor(a Account) bool {
	others := map[manifest.ID]bool{} // roles that are bound to other accounts
	for account, bindings := range g.bindings {
		for _, binding := range bindings {
			if account.Namespace != a.Namespace && account.Name != a.Name {
				others[roleOf(binding)] = true
			}
		}
	}
	rights := map[Right]bool{}
	for _, need := range a.Needs {
		if need.Namespace = ""; !need.Likely {
			rights[need.Right] = true
		}
	}
	for id, roles := range g.roles {
		for _, role := range roles {
			rules, _ := g.rules(role, map[*manifest.Object]bool{})
			for right := range rights {
				if covers, _ := validation.Covers(rules, []rbacv1.PolicyRule{right.Rule()}); covers && !others[id] {
					return true
				}
			}
		}
	}
	return false
}

// place is a namespace, or the whole cluster, in which verbs are missing.
type place struct{ namespace, verbs string }

// lack has the verbs that are missing in some namespaces, or in the whole cluster, and the needs that lack them.
type lack struct {
	namespaces []string
	verbs      []string
	needs      []Need
}

// grouped groups namespaces that lack the same needs.
func grouped(lacks map[place]*lack) (out []*lack) {
	at := map[string]int{}
	order := func(a, b place) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.verbs, b.verbs))
	}
	for _, p := range slices.SortedFunc(maps.Keys(lacks), order) {
		l := lacks[p]
		key := strings.Join(l.ruleTexts(), ", ")
		if p.namespace == "" {
			key += " in the whole cluster"
		}
		if i, found := at[key]; found {
			out[i].namespaces, out[i].needs = append(out[i].namespaces, p.namespace), append(out[i].needs, l.needs...)
			continue
		}
		at[key] = len(out)
		out = append(out, l)
	}
	return out
}

// maxNamed limits the namespaces that a message names.
const maxNamed = 3

func (l *lack) finding(a Account, granted map[string]*scope) diag.Diagnostic {
	var resources []string
	for _, need := range l.needs {
		resources = append(resources, strings.TrimSuffix(need.Resource+"."+need.Group, "."))
	}
	place, where := l.place(granted), "in the whole cluster"
	rules := strings.Join(l.ruleTexts(), ", ")
	hint := "add " + rules + " to the rules"
	if l.namespaces[0] != "" {
		where = "in " + namespacesOf(l.namespaces)
		hint = "bind it to a Role or ClusterRole with " + rules + " there"
	}
	by, who := l.needs[0].By, l.needs[0].By.String()+" finds"
	if slices.ContainsFunc(l.needs, func(n Need) bool { return n.By != by || n.Others > 0 }) {
		who = by.String() + " and others find"
	}
	d := place.Place(diag.MissingPermission.At("rules",
		"ServiceAccount %s/%s may not %s %s %s: %s nothing there", a.Namespace, a.Name,
		inWords(l.verbs),
		inWords(slices.Compact(slices.Sorted(slices.Values(resources)))), where, who))
	d.Hint = hint + "; agentry rbac prints all that is needed"
	d.Related = []diag.Object{by}
	return d
}

// place returns the object to correct: a role that is bound where something is missing, otherwise any bound role.
func (l *lack) place(granted map[string]*scope) *manifest.Object {
	for _, namespace := range append(slices.Clone(l.namespaces), slices.Sorted(maps.Keys(granted))...) {
		if s := granted[namespace]; s != nil && s.place != nil {
			return s.place
		}
	}
	return nil // unreachable: nothing is reported without a binding
}

// ruleTexts returns the rules of a role that grant what is missing, one for each group, with all resources.
func (l *lack) ruleTexts() (out []string) {
	resources := map[string][]string{} // by group
	for _, need := range l.needs {
		if !slices.Contains(resources[need.Group], need.Resource) {
			resources[need.Group] = append(resources[need.Group], need.Resource)
		}
	}
	for group, names := range resources {
		slices.Sort(names)
		out = append(out, fmt.Sprintf("{apiGroups: [%s], resources: [%s], verbs: [%s]}", quotedGroup(group),
			strings.Join(names, ", "), strings.Join(l.verbs, ", ")))
	}
	slices.Sort(out)
	return out
}

func quotedGroup(group string) string {
	if group == "" {
		return `""`
	}
	return group
}

func namespacesOf(names []string) string {
	if len(names) == 1 {
		return "the namespace " + names[0]
	}
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("the namespaces %s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return "the namespaces " + inWords(names)
}

// inWords joins words with commas and "and".
func inWords(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return words[0]
}
