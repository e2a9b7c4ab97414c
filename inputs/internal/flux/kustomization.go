package flux

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
)

// kustomizationGroup is the API group of Flux's Kustomizations.
const kustomizationGroup = "kustomize.toolkit.fluxcd.io"

// kustomizationSpec has the fields of a Kustomization's spec that affect what is applied.
type kustomizationSpec struct {
	Suspend                 bool            `json:"suspend"`
	Path                    string          `json:"path"`
	SourceRef               ObjectRef       `json:"sourceRef"`
	KubeConfig              json.RawMessage `json:"kubeConfig"`
	TargetNamespace         string          `json:"targetNamespace"`
	NamePrefix              string          `json:"namePrefix"`
	NameSuffix              string          `json:"nameSuffix"`
	Patches                 []types.Patch   `json:"patches"`
	Components              []string        `json:"components"`
	IgnoreMissingComponents bool            `json:"ignoreMissingComponents"`
	Images                  []types.Image   `json:"images"`
	CommonMetadata          struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"commonMetadata"`
	PostBuild  *postBuild `json:"postBuild"`
	Decryption *struct {
		Provider string `json:"provider"`
	} `json:"decryption"`

	// These are in v1beta2 only.
	PatchesStrategicMerge []json.RawMessage `json:"patchesStrategicMerge"`
	PatchesJSON6902       []struct {
		Patch  json.RawMessage `json:"patch"`
		Target *types.Selector `json:"target"`
	} `json:"patchesJson6902"`
}

type postBuild struct {
	Substitute         map[string]string `json:"substitute"`
	SubstituteFrom     []substituteRef   `json:"substituteFrom"`
	SubstituteStrategy string            `json:"substituteStrategy"`
}

type substituteRef struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Optional bool   `json:"optional"`
}

// kustomization is a Kustomization found by a walk.
type kustomization struct {
	roots.Object
	spec  kustomizationSpec
	name  string // of the root that it replaces, if any
	chain *roots.Chain
}

// parseKustomization reads a Kustomization.
func parseKustomization(o roots.Object) (*kustomization, error) {
	k := &kustomization{Object: o}
	var object struct {
		Spec *kustomizationSpec `json:"spec"`
	}
	object.Spec = &k.spec
	if err := yaml.Unmarshal(o.Text, &object); err != nil { // the error could quote a value
		return k, problem("spec", "compare it with Flux's reference of Kustomization",
			"a field has a value of the wrong type")
	}
	return k, nil
}

// root returns the root that the Kustomization builds, whose folder is in the repository mounted at top.
func (k *kustomization) root(top string, variables *roots.Variables) roots.Root {
	r := k.emptyRoot()
	r.Folder = path.Join(top, path.Join("/", k.spec.Path)[1:])
	r.Generate = &kustomize.Generate{}
	s := k.spec
	for _, p := range s.PatchesStrategicMerge {
		s.Patches = append(s.Patches, types.Patch{Patch: string(p)})
	}
	for _, p := range s.PatchesJSON6902 {
		s.Patches = append(s.Patches, types.Patch{Patch: string(p.Patch), Target: p.Target})
	}
	r.Change = kustomize.Change{IgnoreMissing: s.IgnoreMissingComponents, Kustomization: types.Kustomization{
		Namespace: s.TargetNamespace, NamePrefix: s.NamePrefix, NameSuffix: s.NameSuffix,
		Patches: s.Patches, Components: s.Components, Images: s.Images,
	}}
	r.Labels, r.Annotations = s.CommonMetadata.Labels, s.CommonMetadata.Annotations
	r.Variables = variables
	return r
}

// emptyRoot returns the root that the Kustomization asks for, with nothing to build yet.
func (k *kustomization) emptyRoot() roots.Root {
	by := &roots.CustomResource{Object: k.Object.Object, Built: k.Built, Prefix: "spec.",
		Fields: map[string]string{"namespace": "targetNamespace"}}
	r := roots.Root{Name: cmp.Or(k.name, by.Name()), RequestedBy: by}
	r.AddSecret(k.Secret)
	return r
}

// refused returns a root that cannot be built because of a problem of its custom resource.
func refused(r roots.Root, p *diag.Diagnostic) roots.Root {
	return roots.Root{Name: r.Name, RequestedBy: r.RequestedBy, Secret: r.Secret, Problem: p}
}

// checkDecryption refuses decryption providers that Flux does not have.
func (k *kustomization) checkDecryption() error {
	if d := k.spec.Decryption; d != nil && d.Provider != "sops" {
		return problem("spec.decryption.provider", "use sops", "%q is not a decryption provider", d.Provider)
	}
	return nil
}

// variables returns the variables of spec.postBuild, or nil if nothing is substituted. An object that is missing or
// cannot be decrypted is a problem, and its variables stay as ${NAME}. If a key server may answer later, that is an
// error. Secret are values of Secrets that were put into the objects, by kind/namespace/name.
func (k *kustomization) variables(ctx context.Context, objects Objects, secret map[string]map[string]string,
	read *reader) (found *roots.Variables, problems []*diag.Diagnostic, err error) {
	if k.spec.PostBuild == nil {
		return nil, nil, nil
	}
	var all roots.Variables
	var missing []string
	for i, ref := range k.spec.PostBuild.SubstituteFrom {
		field := "spec.postBuild.substituteFrom" + index(i)
		in := fmt.Sprintf("%s %s/%s", ref.Kind, k.namespace(), ref.Name)
		object := objects(ref.Kind, k.namespace(), ref.Name)
		switch {
		case ref.Kind != "ConfigMap" && ref.Kind != "Secret":
			return nil, nil, problem(field+".kind", "use ConfigMap or Secret", "%q cannot hold variables", ref.Kind)
		case object == nil && ref.Optional:
			continue
		case object == nil:
			missing = append(missing, in)
			problems = append(problems, new(diag.FluxVariable.At(field, "%s is not in the inputs", in).
				As(diag.Warning).WithHint(addMissing+"; until then its variables stay as ${NAME}, and objects with "+
				"them are not rendered")))
			continue
		case isEmpty(object):
			problems = append(problems, new(diag.FluxVariable.At(field, "%s has no data, so it gives no variable", in).
				As(diag.Warning).WithHint("add data, or remove the reference")))
			continue
		}
		wasEncrypted := isEncrypted(object)
		if wasEncrypted {
			clear, failed := read.open(ctx, object)
			if clear == nil {
				p := undecrypted(field, ref.Kind, k.namespace(), ref.Name, failed)
				if failed.IsUncertain {
					return nil, nil, p
				}
				p.Hint += "; until then its variables stay as ${NAME}, and objects with them are not rendered"
				problems = append(problems, p)
				all = all.WithUnknown(slices.Sorted(maps.Keys(variablesOf(object))), "is unknown: "+in+
					" cannot be decrypted")
				continue
			}
			object = clear
		}
		values := variablesOf(object)
		if err := misnamed(field, " of "+in, values); err != nil {
			return nil, nil, err
		}
		if all = all.Over(values, ref.Kind == "Secret" || wasEncrypted); ref.Kind != "Secret" {
			all = all.Over(holdingSecret(values, secret[ref.Kind+"/"+k.namespace()+"/"+ref.Name]), true)
		}
		if wrong := unreadable(object); len(wrong) > 0 {
			all = all.WithUnknown(wrong, "is unknown: its value in "+in+" is not a string")
			problems = append(problems, new(diag.FluxVariable.At(field, "in %s, these values are not strings: %s", in,
				strings.Join(wrong, ", ")).As(diag.Warning).WithHint("quote them; until then the variables stay as "+
				"${NAME}, and objects with them are not rendered")))
		}
		if stub := roots.StubKeys(object); len(stub) > 0 {
			all = all.WithUnknown(stub,
				fmt.Sprintf("is unknown: the stub of Secret %s/%s has none", k.namespace(), ref.Name))
		}
	}
	if len(missing) > 0 {
		all.Missing = "is unknown: " + areMissing(missing)
	}
	own := withoutNewlines(k.spec.PostBuild.Substitute)
	all = all.Over(own, false).Over(holdingSecret(own, k.Secret), true)
	for name, value := range k.spec.PostBuild.Substitute {
		if p := k.UnknownVariable("", value); p != nil {
			all = all.WithUnknown([]string{name}, "depends on another: "+p.Message)
		}
	}
	if err := misnamed("spec.postBuild.substitute", "", own); err != nil {
		return nil, nil, err
	}
	hasNone := len(all.Values)+len(all.Unknown) == 0 && all.Missing == ""
	if hasNone && k.spec.PostBuild.SubstituteStrategy != "Always" {
		return nil, problems, nil
	}
	return &all, problems, nil
}

// misnamed returns the error about the first name that Flux does not accept, at a field with variables.
func misnamed(field, of string, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !roots.IsVariableName(name) {
			return problem(field, "use letters, digits and _ only", "%q%s is not a variable name", name, of)
		}
	}
	return nil
}

// variablesOf returns the variables in an object.
func variablesOf(object map[string]any) map[string]string {
	values := map[string]string{}
	for _, part := range []string{"data", "stringData"} {
		data, _ := object[part].(map[string]any)
		for name := range data {
			values[name], _ = dataOf(object, name)
		}
	}
	return withoutNewlines(values)
}

// holdingSecret returns the variables whose values hold one of the values of Secrets.
func holdingSecret(values, secret map[string]string) map[string]string {
	out := maps.Clone(values)
	maps.DeleteFunc(out, func(_, value string) bool { return !roots.HoldsSecret(value, secret) })
	return out
}

// isEmpty reports whether a ConfigMap or Secret has no key with a text.
func isEmpty(object map[string]any) bool {
	for _, part := range []string{"data", "stringData"} {
		if data, _ := object[part].(map[string]any); len(data) > 0 {
			return false
		}
	}
	return len(roots.StubKeys(object)) == 0
}

// unreadable returns the sorted names of the variables in an object whose values are no texts.
func unreadable(object map[string]any) (out []string) {
	for _, part := range []string{"data", "stringData"} {
		data, _ := object[part].(map[string]any)
		for name := range data {
			if _, isText := dataOf(object, name); !isText {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutNewlines removes the line breaks in values, as Flux does.
func withoutNewlines(values map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range values {
		out[name] = strings.ReplaceAll(value, "\n", "")
	}
	return out
}

// addMissing says what to do about a ConfigMap or Secret that is not in the inputs.
const addMissing = "add it to the inputs, or to a folder that describes the cluster (--set " +
	"spec.build.cluster=FOLDER, or in the pipeline; agentry import --cluster-state writes one), or set optional: true"

// missing returns the objects that the variables come from and that are missing, optional ones too, as
// kind/namespace/name.
func (k *kustomization) missing(objects Objects) (out []string) {
	if k.spec.PostBuild == nil {
		return nil
	}
	for _, ref := range k.spec.PostBuild.SubstituteFrom {
		if objects(ref.Kind, k.namespace(), ref.Name) == nil {
			out = append(out, ref.Kind+"/"+k.namespace()+"/"+ref.Name)
		}
	}
	return out
}

// postBuild names the field that gives variables their values, and the objects that it names and that are missing.
func (k *kustomization) postBuild(objects Objects) string {
	at := "spec.postBuild of " + k.Object.Object.String()
	if missing := k.missing(objects); len(missing) > 0 {
		at += ", whose " + areMissing(missing)
	}
	return at
}

// areMissing says that objects are not in the inputs.
func areMissing(names []string) string {
	if len(names) == 1 {
		return names[0] + " is not in the inputs"
	}
	return strings.Join(names, " and ") + " are not in the inputs"
}

// waitsFor reports whether an object that the variables come from is still missing: a required one or, if all is set,
// any.
func (k *kustomization) waitsFor(objects Objects, all bool) bool {
	if k.spec.PostBuild == nil {
		return false
	}
	return slices.ContainsFunc(k.spec.PostBuild.SubstituteFrom, func(ref substituteRef) bool {
		return (all || !ref.Optional) && objects(ref.Kind, k.namespace(), ref.Name) == nil
	})
}

func (k *kustomization) namespace() string { return orDefault(k.Namespace) }

// source returns the source that the Kustomization builds from.
func (k *kustomization) source() ObjectRef {
	ref := k.spec.SourceRef
	return ObjectRef{Kind: ref.Kind, Name: ref.Name, Namespace: cmp.Or(ref.Namespace, k.namespace())}
}
