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

// passThrough makes the units of what is passed through.
type passThrough struct {
	renderer
	// yielded are objects that a unit renders as well, each with the GrafanaAgent of that unit.
	yielded map[manifest.ID]*manifest.Object
}

// units returns the units by name: one for each namespace, and one for what is in none. Earlier units whose objects are
// the same are taken over.
func (p passThrough) units(before map[string]*Unit) []*Unit {
	objects := map[string][]*manifest.Object{}
	for _, o := range p.set.All() {
		if o.IsPassed {
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
		units = append(units, p.unit(name, objects))
	}
	slices.SortFunc(units, func(a, b *Unit) int { return strings.Compare(a.Name, b.Name) })
	return units
}

// stays reports whether a unit of an earlier render can be used again for the objects.
func (p passThrough) stays(old *Unit, objects []*manifest.Object) bool {
	isYielded := func(o *manifest.Object) bool { return p.yielded[o.ID] != nil }
	return len(old.diags) == 0 && slices.Equal(old.basis.objects, objects) && p.mayTakeOver(old) &&
		(len(p.yielded) == 0 || !slices.ContainsFunc(objects, isYielded))
}

// unit renders a unit of some objects. An object with an error is replaced by its last good version.
func (p passThrough) unit(name string, objects []*manifest.Object) *Unit {
	u := &Unit{Name: name, basis: basis{objects: objects}}
	var resources []string
	for _, o := range objects {
		file := copyOf(o)
		if d := p.refusal(name, o, &file); d != nil {
			d.Units = []string{name}
			u.diags = append(u.diags, *d)
			u.basis.usedLastGood = true
			standIn := p.last(name, o.ID)
			u.Held = append(u.Held, Held{ID: o.ID, Object: o, StandIn: standIn, Reason: *d})
			if standIn == nil {
				continue
			}
			file = copyOf(standIn)
			u.Failed = u.Failed || p.immutableField(name, &file) != ""
		}
		resources = append(resources, file.Path)
		u.Inputs = append(u.Inputs, o.ID)
		u.Files = append(u.Files, file)
	}
	if u.Failed { // even the last good version changes what Kubernetes lets nobody change
		u.Held, u.Files = nil, nil
		return u
	}
	if len(resources) > 0 {
		u.Files = append(u.Files, File{Path: KustomizationFile, Data: Kustomization(resources), Manifest: true})
	}
	slices.SortFunc(u.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	u.names = namesOf(name, nil, u.Files)
	return u
}

// copyOf returns the file of an object that is passed through.
func copyOf(o *manifest.Object) File {
	return File{Path: passthrough.FileName(o.Kind, o.Name), Data: o.Passed(), Object: o.ID, Manifest: true}
}

// last returns the last good version of an object of a unit, or nil if there is none that may be copied now.
func (p passThrough) last(unit string, id manifest.ID) *manifest.Object {
	last := p.opts.LastGood
	if last == nil || p.yielded[id] != nil {
		return nil
	}
	if o, _ := last.Last(unit, id); o != nil && o.IsPassed && p.holdsSecret(o) == "" {
		return o
	}
	return nil
}

// refusal returns why an object is not copied as it is, to a file of a unit, or nil.
func (p passThrough) refusal(unit string, o *manifest.Object, file *File) *diag.Diagnostic {
	if agent := p.yielded[o.ID]; agent != nil {
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
	if field := p.immutableField(unit, file); field != "" {
		return new(immutableError(o, o.ID, field))
	}
	return nil
}

// holdsSecret returns a message if an object holds a secret in clear, which the secrets policy keeps out of the output.
func (p passThrough) holdsSecret(o *manifest.Object) string {
	var typed *manifest.Object
	what := ""
	if o.Kind == "Secret" {
		switch value := o.Value().(type) {
		case *corev1.Secret:
			if typed = o; len(value.Data) > 0 {
				what = "the Secret is not encrypted"
			}
		case *manifest.Foreign:
			if value.Clear != "" {
				what = "the Secret is encrypted, but not " + value.Clear
			}
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
		return o.IsPassed
	}
	return slices.ContainsFunc(set.LeftOutAs(id), func(o *manifest.Object) bool { return o.IsPassed })
}
