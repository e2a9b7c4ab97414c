package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Use is a field of an object that names a key of a Secret or ConfigMap, or a selector that asks for a Namespace's
// labels.
type Use struct {
	By    Object `json:"by"`
	Field Field  `json:"field"`
	Of    Object `json:"of"`
	Key   string `json:"key,omitempty"`
	// Missing means that the Secret or ConfigMap is not in the inputs.
	Missing bool `json:"missing,omitempty"`
}

// String names the used object and key, and never a value.
func (u Use) String() string {
	if u.Key == "" {
		return u.Of.ID().String()
	}
	return u.Of.ID().String() + " key " + u.Key
}

// keysOf names each used Secret and ConfigMap once, with its keys.
func keysOf(list []Use) (out []string) {
	keys := map[string][]string{}
	for _, u := range list {
		keys[u.Of.ID().String()] = append(keys[u.Of.ID().String()], u.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		slices.Sort(keys[name])
		out = append(out, name+" ("+strings.Join(slices.Compact(keys[name]), ", ")+")")
	}
	return out
}

// uses returns the Secrets and ConfigMaps that the fields of an object name.
func (x *inputs) uses(o *manifest.Object) (out []Use) {
	for _, r := range secretref.References(o) {
		id := r.Ref.ID()
		_, isNamed := x.render.Set.Named()[id]
		out = append(out, Use{
			By: name(o), Field: x.field(o, r.Path), Of: Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
			Key:     r.Ref.Key,
			Missing: x.byID[id] == nil && !isNamed,
		})
	}
	return out
}

// usersOf returns the fields that refer to a Secret, ConfigMap or Namespace.
func (x *Explainer) usersOf(o *manifest.Object) []Use {
	if o.Kind == manifest.NamespaceKind {
		return x.usersOfNamespace(o)
	}
	return x.allUsers()[o.ID]
}

// allUsers returns the fields that refer to each Secret and ConfigMap.
func (x *inputs) allUsers() map[manifest.ID][]Use {
	if x.users == nil {
		x.users = map[manifest.ID][]Use{}
		for _, list := range x.objects {
			for _, o := range list {
				for _, u := range x.uses(o) {
					x.users[u.Of.ID()] = append(x.users[u.Of.ID()], u)
				}
			}
		}
		for _, list := range x.users {
			slices.SortFunc(list, func(a, b Use) int {
				return cmp.Or(a.By.ID().Compare(b.By.ID()), cmp.Compare(a.Field.Path, b.Field.Path))
			})
		}
	}
	return x.users
}

// usersOfNamespace returns the namespace selectors that choose a namespace by its labels.
func (x *selectors) usersOfNamespace(o *manifest.Object) (out []Use) {
	for _, kind := range [...]string{"GrafanaAgent", "MetricsInstance", "LogsInstance"} {
		for _, by := range x.objects[kind] {
			p := x.newParent(by)
			for i := range p.choices {
				c := &p.choices[i]
				if c.isSet() && c.namespaces != nil && !c.namespaces.Empty() &&
					c.namespaces.Matches(hierarchy.NamespaceLabels(x.render.Set, o.Name)) {
					out = append(out, Use{By: name(by), Field: x.field(by, c.NamespacePath), Of: name(o)})
				}
			}
		}
	}
	return out
}

// unitsOfUsers returns the units with objects that refer to a Secret or ConfigMap, sorted by name.
func (x *Explainer) unitsOfUsers(o *manifest.Object) (out []*unit) {
	for _, use := range x.usersOf(o) {
		for _, u := range x.inUnits[use.By.ID()] {
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	slices.SortFunc(out, func(a, b *unit) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
