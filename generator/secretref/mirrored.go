package secretref

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
)

// Mirrored returns the Secrets and ConfigMaps in other namespaces that pods use under Reference, with their keys.
func (r *Resolver) Mirrored() []mirror.Mirrored {
	keys, whole := map[manifest.ID][]string{}, map[manifest.ID]bool{}
	add := func(ref Ref) {
		if r.policyOf(ref) == Reference && ref.Namespace != r.agent.Namespace {
			keys[ref.ID()] = append(keys[ref.ID()], ref.Key)
			whole[ref.ID()] = whole[ref.ID()] || ref.Key == ""
		}
	}
	for _, u := range r.uses {
		add(u.ref)
	}
	for _, l := range r.listed {
		add(l.ref)
	}
	var out []mirror.Mirrored
	for id, list := range keys {
		m := mirror.Mirrored{Source: r.source(Ref{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name})}
		if !whole[id] {
			slices.Sort(list)
			m.Keys = slices.Compact(list)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b mirror.Mirrored) int { return a.ID.Compare(b.ID) })
	return out
}

// source returns the Secret or ConfigMap of a reference, as far as the inputs describe it.
func (r *Resolver) source(ref Ref) mirror.Source {
	return mirror.Source{ID: ref.ID(), Object: r.Look(ref.ID()), Named: r.set.Named()[ref.ID()]}
}

// mounted returns the name of the Secret or ConfigMap in the GrafanaAgent's namespace that holds the content of a
// reference under Reference.
func (r *Resolver) mounted(ref Ref) string {
	if ref.Namespace == r.agent.Namespace {
		return ref.Name
	}
	return mirror.Name(r.agent.Name, ref.ID())
}
