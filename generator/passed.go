package generator

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// passer makes the units of what is passed through.
type passer struct {
	renderer
	taken map[manifest.ID]*manifest.Object // what is rendered as well, with the GrafanaAgents that it is rendered for
}

// units returns the units by name: one for each namespace, and one for what is in none. Those of prev whose objects are
// the same are taken over.
func (p passer) units(prev *Output) []*Unit {
	before := map[string]*Unit{}
	if prev != nil {
		for _, u := range prev.Units[len(prev.Hierarchies):] {
			before[u.Name] = u
		}
	}
	objects := map[string][]*manifest.Object{}
	for _, o := range p.set.All() {
		if o.Passed != nil {
			name := passthrough.Unit(o.Namespace)
			objects[name] = append(objects[name], o)
		}
	}
	var units []*Unit
	for name, objects := range objects {
		if old := before[name]; old != nil && p.stays(old, objects) {
			units = append(units, old)
			continue
		}
		units = append(units, p.unit(name, objects, nil))
	}
	slices.SortFunc(units, func(a, b *Unit) int { return strings.Compare(a.Name, b.Name) })
	return units
}

// stays reports whether a unit of an earlier render is that of the objects.
func (p passer) stays(old *Unit, objects []*manifest.Object) bool {
	isTaken := func(o *manifest.Object) bool { return p.taken[o.ID] != nil }
	return !old.basis.usedLastGood && len(old.diags) == 0 && slices.Equal(old.basis.objects, objects) &&
		(len(p.taken) == 0 || !slices.ContainsFunc(objects, isTaken))
}

// unit renders a unit of some objects. given are errors that the caller found. An object with an error is replaced by
// its last good version.
func (p passer) unit(name string, objects []*manifest.Object, given diag.List) *Unit {
	u := &Unit{Name: name, basis: basis{objects: objects}}
	var resources []string
	for _, o := range objects {
		version := o
		if d := p.refusal(o, given); d != nil {
			d.Units = []string{name}
			u.diags = append(u.diags, *d)
			u.basis.usedLastGood = true
			version = p.last(name, o.ID)
			u.Held = append(u.Held, Held{ID: o.ID, Object: o, StandIn: version, Reason: *d})
		}
		if version == nil {
			continue
		}
		file := passthrough.FileName(o.Kind, o.Name)
		resources = append(resources, file)
		u.Inputs = append(u.Inputs, o.ID)
		u.Files = append(u.Files, File{Path: file, Data: version.Passed, Object: o.ID, Manifest: true})
	}
	if len(resources) > 0 {
		u.Files = append(u.Files, File{Path: KustomizationFile, Data: Kustomization(resources), Manifest: true})
	}
	slices.SortFunc(u.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return u
}

// last returns the last good version of an object of a unit, or nil if there is none that may be copied now.
func (p passer) last(unit string, id manifest.ID) *manifest.Object {
	last := p.opts.LastGood
	if last == nil || p.taken[id] != nil {
		return nil
	}
	if o, _ := last.Last(unit, id); o != nil && o.Passed != nil && p.holdsSecret(o) == "" {
		return o
	}
	return nil
}

// refusal returns why an object is not copied as it is, or nil.
func (p passer) refusal(o *manifest.Object, given diag.List) *diag.Diagnostic {
	if agent := p.taken[o.ID]; agent != nil {
		d := o.Place(diag.NameConflict.At("metadata.name", "%s would be passed through, and is rendered for %s", o.ID,
			agent.SeenFrom(o, "")))
		d.Hint, d.Related = "rename one of the two; or remove this one, if it is what the operator made of the other",
			[]diag.Object{agent.Ref()}
		return &d
	}
	if what := p.holdsSecret(o); what != "" {
		policy, way := string(secretref.Reference),
			"encrypt it with SOPS, or make it a SealedSecret or an ExternalSecret; or allow it by a rule in "+
				"secrets.rules with policy: plaintext; or leave its kind out of passThrough.kinds"
		if p.opts.Encrypted {
			policy, way = "sops", "encrypt all of its values with SOPS, or move them into a Secret that has this "+
				"policy; or leave its kind out of passThrough.kinds"
		}
		d := o.Place(diag.ClearSecret.At("",
			"%s, so it is not passed through: under the secrets policy %s no secret gets to the output in clear", what,
			policy))
		d.Hint = way
		return &d
	}
	if i := slices.IndexFunc(given, func(d diag.Diagnostic) bool { return d.Object == o.Ref() }); i >= 0 {
		return &given[i]
	}
	return nil
}

// holdsSecret returns what is in clear in an object that the secrets policy keeps out of the output, or "".
func (p passer) holdsSecret(o *manifest.Object) string {
	var typed *manifest.Object
	what := ""
	switch value := o.Value.(type) {
	case *corev1.Secret:
		if typed = o; len(value.Data) > 0 {
			what = "the Secret is not encrypted"
		}
	case *manifest.Foreign:
		if value.Clear != "" {
			what = "the Secret is encrypted, but not " + value.Clear
		}
	}
	if variables := o.SecretVariables(); what == "" && len(variables) > 0 {
		what = fmt.Sprintf("%s put values of a Secret into it", strings.Join(variables, ", "))
	}
	canBe := typed != nil || !p.opts.Encrypted // only Secrets are encrypted
	if what == "" || canBe && p.opts.policies().Of(o.ID, typed) == secretref.Plaintext {
		return ""
	}
	return what
}

// passes reports whether an object of the inputs is passed through, or would be if it had no error.
func passes(set *manifest.Set, id manifest.ID) bool {
	if o := set.Find(id); o != nil {
		return o.Passed != nil
	}
	return slices.ContainsFunc(set.LeftOut(), func(o *manifest.Object) bool { return o.ID == id && o.Passed != nil })
}
