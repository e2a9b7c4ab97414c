package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Manifests returns a ServiceAccount with roles and bindings that grant its needs, as a YAML stream: a ClusterRole for
// the whole cluster, and a Role in each namespace to which a discovery is limited. If exists is true, the
// ServiceAccount itself is left out. Comments name the objects that need each rule.
func Manifests(a Account, exists bool) string {
	var b strings.Builder
	if exists {
		fmt.Fprintf(&b, "# ServiceAccount %s/%s is in the inputs.\n", a.Namespace, a.Name)
	} else {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: %s\n  namespace: %s\n", a.Name,
			a.Namespace)
	}
	byNamespace := a.byNamespace()
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		a.role(&b, namespace, byNamespace[namespace])
	}
	return b.String()
}

// byNamespace returns the needs in each namespace and, at "", in the whole cluster. A namespace does not repeat a need
// of the whole cluster.
func (a Account) byNamespace() map[string][]Need {
	everywhere := map[Right]bool{}
	out := map[string][]Need{}
	for _, need := range a.Needs {
		if need.Namespace == "" {
			everywhere[need.Right] = true
		}
	}
	for _, need := range a.Needs {
		right := need.Right
		if right.Namespace = ""; need.Namespace == "" || !everywhere[right] {
			out[need.Namespace] = append(out[need.Namespace], need)
		}
	}
	return out
}

// role writes a Role or, without a namespace, a ClusterRole that grants the needs, and its binding.
func (a Account) role(b *strings.Builder, namespace string, needs []Need) {
	kind, metadata := "ClusterRole", "  name: "+a.Namespace+"-"+a.Name+"\n"
	if namespace != "" {
		kind, metadata = "Role", metadata+"  namespace: "+namespace+"\n"
	}
	fmt.Fprintf(b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n%srules:\n", kind, metadata)
	needs = slices.SortedStableFunc(slices.Values(needs), compareNeeds)
	for i, end := 0, 0; i < len(needs); i = end {
		for end = i + 1; end < len(needs) && sameRule(needs[i], needs[end]); end++ {
		}
		writeRule(b, needs[i:end])
	}
	fmt.Fprintf(b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\nmetadata:\n%sroleRef:\n"+
		"  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s-%s\nsubjects:\n  - kind: ServiceAccount\n"+
		"    name: %s\n    namespace: %s\n",
		kind, metadata, kind, a.Namespace, a.Name, a.Name, a.Namespace)
}

func compareNeeds(a, b Need) int {
	likely := func(n Need) int {
		if n.Likely {
			return 1
		}
		return 0
	}
	return cmp.Or(likely(a)-likely(b), strings.Compare(a.Group, b.Group), cmp.Compare(a.Verbs, b.Verbs),
		strings.Compare(who(a), who(b)),
		strings.Compare(a.URL, b.URL), strings.Compare(a.Resource, b.Resource))
}

// sameRule reports whether two needs are printed as one rule.
func sameRule(a, b Need) bool {
	return a.Likely == b.Likely && a.Group == b.Group && a.Verbs == b.Verbs && who(a) == who(b) &&
		(a.URL == "") == (b.URL == "")
}

// who names the objects that have a need.
func who(n Need) string {
	text := diag.OneLine(n.By.String())
	if n.Others == 1 {
		text += " and 1 more"
	} else if n.Others > 1 {
		text += fmt.Sprintf(" and %d more", n.Others)
	}
	return text
}

func writeRule(b *strings.Builder, needs []Need) {
	first := needs[0]
	why := who(first)
	if first.Likely {
		why += ": targets get the token, and most likely ask for this"
	}
	var resources, urls []string
	for _, n := range needs {
		resources, urls = append(resources, n.Resource), append(urls, strconv.Quote(n.URL))
	}
	fmt.Fprintf(b, "  # %s\n", why)
	if first.URL != "" {
		fmt.Fprintf(b, "  - nonResourceURLs: [%s]\n", strings.Join(urls, ", "))
	} else {
		fmt.Fprintf(b, "  - apiGroups: [%s]\n    resources: [%s]\n", quotedGroup(first.Group),
			strings.Join(resources, ", "))
	}
	fmt.Fprintf(b, "    verbs: [%s]\n", strings.Join(first.Verbs.List(), ", "))
}
