package kustomizer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	api "github.com/agentry-dev/agentry/generator/api/references"
)

// kustomize renames objects (namePrefix, hashes of generators) and updates references to them in Kubernetes' own
// kinds. This file updates the references in custom resources too, which package references lists. kustomize could be
// configured to do that, but would compare each reference with each object: minutes for 1,000 monitors with
// credentials.

// EarlierNames is the field in which objects carry kustomize's notes about their names out of the build.
const EarlierNames = "agentry-earlier-names"

// KeepNames returns a transformer for the end of a kustomization that copies kustomize's notes about names to a field.
// kustomize itself removes the notes before it returns the objects. Patching an object notes its name once more.
var KeepNames = sync.OnceValues(func() (string, error) {
	r, err := references()
	if err != nil {
		return "", err
	}
	text, err := sigsyaml.Marshal(map[string]any{
		"apiVersion": konfig.BuiltinPluginApiVersion, "kind": "PatchTransformer",
		"metadata": map[string]any{"name": EarlierNames},
		"target":   map[string]any{"kind": strings.Join(slices.Sorted(maps.Keys(r.kinds)), "|")},
		"patch":    `[{"op": "copy", "from": "/metadata/annotations", "path": "/` + EarlierNames + `"}]`,
	})
	return string(text), err
})

// HasReferred reports whether a file may have an object that custom resources refer to, such as a Secret. Without any,
// there are no references to update.
func HasReferred(text []byte) bool {
	r, err := references()
	return err != nil || r.referred.Match(text)
}

// referrers describes the fields that name other objects.
type referrers struct {
	fields   map[string]*step // by kind of the object
	kinds    map[string]bool  // kinds that refer to objects, or are referred to
	referred *regexp.Regexp   // finds a kind that is referred to
}

// step is a node in the tree of the paths of references.
type step struct {
	named string           // the kind of the object that the value names, or ""
	next  map[string]*step // by field
	any   *step            // for all keys of a map
}

// proxyHeaders is the step of the field proxyConnectHeader: lists of keys of Secrets by header name. kustomize's
// configuration cannot express it.
var proxyHeaders = &step{any: &step{next: map[string]*step{"name": {named: "Secret"}}}}

// references returns the references to update in a build. Nobody changes them.
var references = sync.OnceValues(func() (*referrers, error) {
	var config struct {
		NameReference []struct {
			Kind       string
			FieldSpecs []struct{ Kind, Path string }
		}
	}
	out := &referrers{fields: map[string]*step{}, kinds: map[string]bool{}}
	if err := sigsyaml.Unmarshal(api.YAML(), &config); err != nil {
		return nil, fmt.Errorf("read the references of custom resources: %w", err)
	}
	var referred []string
	for _, named := range config.NameReference {
		referred = append(referred, named.Kind)
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
	out.referred = regexp.MustCompile(`kind["']?\s*:\s*[^\n]*\b(` + strings.Join(referred, "|") + `)\b`)
	return out, nil
})

// names are kustomize's notes about the name of an object.
type names struct {
	namespace          string
	now                string
	earlier            []string // the first one is the name in the file
	prefixes, suffixes []string // in the order in which they were added
}

// renamed returns the earlier names of an object, without its current one.
func (n names) renamed() []string {
	return slices.DeleteFunc(slices.Clone(n.earlier), func(name string) bool { return name == n.now })
}

// extractNames removes the field with the names of objects, and the trace of the transformer that added it.
func extractNames(built resmap.ResMap) (map[*resource.Resource]names, error) {
	out := map[*resource.Resource]names{}
	for _, r := range built.Resources() {
		if err := removeLastTrace(r); err != nil {
			return nil, err
		}
		notes, err := r.Pipe(kyaml.Get(EarlierNames))
		if err != nil || notes == nil {
			continue // no references to or in objects of this kind
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
		if err := r.PipeE(kyaml.Clear(EarlierNames)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// transformations is the annotation in which kustomize records the transformers that an object went through.
const transformations = "alpha.config.kubernetes.io/transformations"

// removeLastTrace removes the trace of the last transformer that an object went through, if it is traced.
func removeLastTrace(r *resource.Resource) error {
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

// earlierName identifies an object by a name that it has or had.
type earlierName struct{ kind, namespace, name string }

// follow writes the current names of objects into the references to them. It returns the names that it wrote, by the
// object with the references.
func (r *referrers) follow(built resmap.ResMap,
	known map[*resource.Resource]names) map[*resource.Resource]map[string]string {
	out := map[*resource.Resource]map[string]string{}
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
			if now := by.resolve(candidates); now != "" && now != value.Value {
				if out[object] == nil {
					out[object] = map[string]string{}
				}
				out[object][now] = value.Value
				value.Value, value.Tag = now, kyaml.NodeTagString
			}
		})
	}
	return out
}

// clusterScoped is the namespace of objects without one.
const clusterScoped = resid.TotallyNotANamespace

// visit calls do with each value that names an object.
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
			case s.named != "" && key == "name": // an object with a name, instead of a plain name
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

// resolve returns the name of the candidate that an object refers to: the only one, else the only one with the same
// prefixes and suffixes, else the only one whose last prefixes and suffixes are the same. It returns "" if none is
// unique.
func (n names) resolve(candidates []names) string {
	same := func(c names) bool {
		return slices.Equal(n.prefixes, c.prefixes) && slices.Equal(n.suffixes, c.suffixes)
	}
	last := func(c names) bool { return endAlike(n.prefixes, c.prefixes) && endAlike(n.suffixes, c.suffixes) }
	for _, matches := range []func(names) bool{func(names) bool { return true }, same, last} {
		found := map[string]bool{}
		for _, c := range candidates {
			if matches(c) {
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

// endAlike reports whether the shorter list is a suffix of the longer one.
func endAlike(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[len(a)-n:], b[len(b)-n:])
}
