package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/references"
)

// kustomize renames objects (namePrefix, hashes of generators) and follows references to them in Kubernetes' own kinds.
// This file follows those in the custom resources too, as package references lists them. kustomize can be configured to
// do that, but compares each reference with each object then: 1,000 monitors with credentials take it minutes.

// earlierNames is the field in which objects bring out of kustomize what it notes about their names.
const earlierNames = "agentry-earlier-names"

// keepNames returns a transformer for the end of a kustomization, which copies the notes of kustomize about names to a
// field. kustomize removes its own notes before it gives the objects. Patching an object notes its name once more.
func (r *referrers) keepNames() string {
	return marshal(map[string]any{
		"apiVersion": konfig.BuiltinPluginApiVersion, "kind": "PatchTransformer",
		"metadata": map[string]any{"name": earlierNames},
		"target":   map[string]any{"kind": strings.Join(slices.Sorted(maps.Keys(r.kinds)), "|")},
		"patch":    `[{"op": "copy", "from": "/metadata/annotations", "path": "/` + earlierNames + `"}]`,
	})
}

// referrers are the fields that name other objects.
type referrers struct {
	fields map[string]*step // by the kind of the object
	kinds  map[string]bool  // of objects that name others, and of those that are named
}

// step is a part of the paths of references.
type step struct {
	named string           // the kind of object that the value names, or ""
	next  map[string]*step // by the name of a field
	any   *step            // of each key, in a map
}

// proxyHeaders is the step of the field proxyConnectHeader, which all kinds have beside other references: lists of keys
// of Secrets, by the name of a header. kustomize's configuration cannot express it.
var proxyHeaders = &step{any: &step{next: map[string]*step{"name": {named: "Secret"}}}}

// referrers returns the references to follow in a build, or nil if it renames nothing.
func (c *checker) referrers() (*referrers, error) {
	if !c.renames() {
		return nil, nil
	}
	var config struct {
		NameReference []struct {
			Kind       string
			FieldSpecs []struct{ Kind, Path string }
		}
	}
	out := &referrers{fields: map[string]*step{}, kinds: map[string]bool{}}
	if err := sigsyaml.Unmarshal(references.YAML(), &config); err != nil {
		return nil, fmt.Errorf("read the references of custom resources: %w", err)
	}
	for _, named := range config.NameReference {
		out.kinds[named.Kind] = true
		for _, spec := range named.FieldSpecs {
			out.kinds[spec.Kind] = true
			at := out.fields[spec.Kind]
			if at == nil {
				at = &step{next: map[string]*step{}}
				out.fields[spec.Kind] = at
			}
			for name := range strings.SplitSeq(spec.Path, "/") {
				if at.next[name] == nil {
					at.next[name] = &step{next: map[string]*step{}}
				}
				at = at.next[name]
			}
			at.named = named.Kind
		}
	}
	return out, nil
}

// renames reports whether a build may rename objects.
func (c *checker) renames() bool {
	for dir, f := range c.files {
		allowed := func(p types.Patch) bool { return p.Options != nil && p.Options.AllowNameChange }
		isHashed := func(g types.ConfigMapArgs) bool { return f.hasSuffix(g.GeneratorArgs) }
		isHashedSecret := func(g types.SecretArgs) bool { return f.hasSuffix(g.GeneratorArgs) }
		if f.NamePrefix+f.NameSuffix != "" || len(f.Transformers)+len(f.Generators) > 0 ||
			slices.ContainsFunc(f.Patches, allowed) ||
			slices.ContainsFunc(f.ConfigMapGenerator, isHashed) ||
			slices.ContainsFunc(f.SecretGenerator, isHashedSecret) {
			return true
		}
		for _, list := range patchTexts(c, dir, f) {
			if slices.ContainsFunc(list.texts, func(text []byte) bool {
				return bytes.Contains(text, []byte("/metadata/name"))
			}) {
				return true
			}
		}
	}
	return false
}

// names are what kustomize noted about the name of an object.
type names struct {
	namespace          string
	now                string
	earlier            []string // the first one is that of the file
	prefixes, suffixes []string // the last one was added last
}

// renamed returns the earlier names of an object that has another one now.
func (n names) renamed() []string {
	return slices.DeleteFunc(slices.Clone(n.earlier), func(name string) bool { return name == n.now })
}

// takeNames removes the field with the names of objects, and the trace of the transformer that added it.
func takeNames(built resmap.ResMap) (map[*resource.Resource]names, error) {
	out := map[*resource.Resource]names{}
	for _, r := range built.Resources() {
		if err := untraceLast(r); err != nil {
			return nil, err
		}
		notes, err := r.Pipe(kyaml.Get(earlierNames))
		if err != nil || notes == nil {
			continue // of a kind that is not followed
		}
		list := func(of string) []string {
			note, err := notes.Pipe(kyaml.Get(konfig.ConfigAnnoDomain + "/" + of))
			if err != nil || note == nil {
				return nil
			}
			return strings.Split(note.YNode().Value, ",")
		}
		out[r] = names{r.CurId().EffectiveNamespace(), r.GetName(), list("previousNames"), list("prefixes"),
			list("suffixes")}
		if err := r.PipeE(kyaml.Clear(earlierNames)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// untraceLast removes the note about the last transformer that an object went through, if there are notes.
func untraceLast(r *resource.Resource) error {
	traced, err := r.GetTransformations()
	if err != nil || len(traced) == 0 {
		return err
	}
	if traced = traced[:len(traced)-1]; len(traced) == 0 {
		return r.ClearTransformations()
	}
	text, err := traced.String()
	if err != nil {
		return err
	}
	return r.PipeE(kyaml.SetAnnotation(transformations, text))
}

// earlierName identifies an object by a name that it has or had, among those of a kind and namespace.
type earlierName struct{ kind, namespace, name string }

// followed are the names that were written into the references of an object, with those that its author wrote.
type followed map[string]string

// follow writes the names that objects have now into the references to them. It returns what it wrote, by the object
// with the references.
func (r *referrers) follow(built resmap.ResMap, known map[*resource.Resource]names) map[*resource.Resource]followed {
	out := map[*resource.Resource]followed{}
	index := map[earlierName][]names{}
	for object, n := range known {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(n.earlier))) {
			at := earlierName{object.GetKind(), n.namespace, name}
			index[at] = append(index[at], n)
		}
	}
	for _, object := range built.Resources() {
		by, isKnown := known[object]
		if !isKnown {
			continue
		}
		r.fields[object.GetKind()].visit(object.YNode(), func(kind string, value *yaml.Node) {
			candidates := slices.Concat(index[earlierName{kind, by.namespace, value.Value}],
				index[earlierName{kind, clusterScoped, value.Value}])
			if now := by.meant(candidates); now != "" && now != value.Value {
				if out[object] == nil {
					out[object] = followed{}
				}
				out[object][now] = value.Value
				value.Value, value.Tag = now, kyaml.NodeTagString
			}
		})
	}
	return out
}

// clusterScoped is the namespace of an object that is in none.
const clusterScoped = resid.TotallyNotANamespace

// visit calls a function with each value that names an object.
func (s *step) visit(n *yaml.Node, do func(kind string, value *yaml.Node)) {
	switch {
	case s == nil:
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			s.visit(item, do)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			next := s.next[key]
			switch {
			case s.any != nil:
				next = s.any
			case s.named != "" && key == "name": // instead of a name only
				next = &step{named: s.named}
			case key == "proxyConnectHeader":
				next = proxyHeaders
			}
			next.visit(n.Content[i+1], do)
		}
	case n.Kind == yaml.ScalarNode && s.named != "":
		do(s.named, n)
	}
}

// meant returns the name of the candidate that an object means, or "" if several can be meant: that which got the same
// prefixes and suffixes, or else that which got the same ones last.
func (n names) meant(candidates []names) string {
	same := func(c names) bool {
		return slices.Equal(n.prefixes, c.prefixes) && slices.Equal(n.suffixes, c.suffixes)
	}
	last := func(c names) bool { return endAlike(n.prefixes, c.prefixes) && endAlike(n.suffixes, c.suffixes) }
	for _, isMeant := range []func(names) bool{func(names) bool { return true }, same, last} {
		found := map[string]bool{}
		for _, c := range candidates {
			if isMeant(c) {
				found[c.now] = true
			}
		}
		if len(found) == 1 {
			for name := range found {
				return name
			}
		}
	}
	return ""
}

// endAlike reports whether the shorter list is the end of the longer one.
func endAlike(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[len(a)-n:], b[len(b)-n:])
}
