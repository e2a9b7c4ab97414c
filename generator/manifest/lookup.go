package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// File returns the name of the file that the object was read from.
func (o *Object) File() string { return o.of.Path }

// Source returns the repository of that file if there are several, otherwise "".
func (o *Object) Source() string { return o.of.Source }

// WrittenFile returns the file of [Object.Written], which costs more.
func (o *Object) WrittenFile() string {
	if !o.of.isBuilt {
		return o.of.Path
	}
	file, _, _ := o.Written()
	return file
}

// Text returns the object's text: its document or, for an item of a List, the item as JSON. Parsing it with the
// same options gives the same object.
func (o *Object) Text() string {
	at := o.place()
	if at.prefix == "" {
		return at.text
	}
	of, path := at.own()
	value, _, _ := yamlvalue.Decode(of.text) // it was decoded before
	item := lookup(value, path).(map[string]any)
	item["apiVersion"], item["kind"] = o.APIVersion, o.Kind // of a typed list, they can be the list's
	text, _ := json.Marshal(item)                           // it was decoded from YAML
	return string(text)
}

// Has reports whether the object is written with a field at path.
func (o *Object) Has(path string) bool { return o.place().has(path) }

// IsEmptyText reports whether the object is written with "" at path, for fields whose Go type cannot tell "" from none.
func (o *Object) IsEmptyText(path string) bool {
	// to find a path takes parsing the text
	at := o.place()
	if !at.mayHold(`""`) && !at.mayHold("''") {
		return false
	}
	_, value, found := at.find(path)
	return found && value.Kind == yaml.ScalarNode && value.Value == "" && value.ShortTag() == "!!str"
}

// Namespaces returns the sorted names of all namespaces that objects are in or that have a manifest.
func (s *Set) Namespaces() []string {
	names := map[string]bool{}
	for _, o := range s.objects {
		if o.Kind == "Namespace" {
			names[o.Name] = true
		} else {
			names[o.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// IsManifestPath reports whether a file of a folder is read as manifests: its name ends in .yaml, .yml or
// .json, and no part of its path begins with a dot.
func IsManifestPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return false
		}
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// TooLarge returns the result for a file that is larger than [MaxFileBytes], for callers that do not read such a file.
func TooLarge(f File) Result {
	p := newParser(f, Options{})
	p.broken(diag.FileTooLarge, 0, 0, fmt.Sprintf("the file has more than %d bytes", MaxFileBytes), "", "")
	return p.finish()
}

// Named is an object of which only the name is used: a ServiceAccount, or a Secret that is encrypted or that
// another program makes.
type Named struct {
	ID
	// Keys are a Secret's, as far as they can be read.
	Keys []string
	// By is the kind of the object that describes a Secret: SealedSecret or ExternalSecret. It is empty for one that
	// SOPS encrypted.
	By string
	// External is the ExternalSecret that makes a Secret, else nil.
	External *External
	// Encrypted is an object that SOPS encrypted, else nil.
	Encrypted *Encrypted
	// Problem says why its value could not be read, after somebody tried; see [Set.Open].
	Problem string
}

// External is an ExternalSecret of the External Secrets Operator.
type External struct {
	APIVersion string
	// Spec is its spec in JSON's types. It must not be changed.
	Spec map[string]any
}

// nameForeign notes an object of a kind that agentry does not read, if its name is of use.
func (p *parser) nameForeign(apiVersion, kind string, raw map[string]any, at place) {
	named := Named{ID: ID{Kind: "Secret"}, By: kind}
	named.Name, _ = lookup(raw, "metadata.name").(string)
	named.Namespace, _ = lookup(raw, "metadata.namespace").(string)
	if named.Namespace == "" && !passthrough.IsClusterScoped(kind) {
		named.Namespace = p.opts.DefaultNamespace
	}
	id := ID{Kind: kind, Namespace: named.Namespace, Name: named.Name}
	if namesOthers(apiVersion, kind) && p.refusesName(id, apiVersion, at) {
		return
	}
	switch {
	case apiVersion == rbacv1.SchemeGroupVersion.String():
		p.right(kind, raw, at)
		return
	case apiVersion == coreVersion && kind == "ServiceAccount":
		named.Kind, named.By = kind, ""
	case apiVersion == "bitnami.com/v1alpha1" && kind == "SealedSecret":
		data, _ := lookup(raw, "spec.encryptedData").(map[string]any)
		named.Keys = slices.Sorted(maps.Keys(data))
		if template, _ := lookup(raw, "spec.template.data").(map[string]any); len(template) > 0 {
			named.Keys = slices.Compact(slices.Sorted(slices.Values(append(named.Keys,
				slices.Collect(maps.Keys(template))...))))
		}
	case kind == "ExternalSecret":
		if name, ok := lookup(raw, "spec.target.name").(string); ok {
			named.Name = name
		}
		named.Keys = externalKeys(raw)
		if spec, ok := raw["spec"].(map[string]any); ok && strings.HasPrefix(apiVersion, "external-secrets.io/") {
			named.External = &External{apiVersion, spec}
		}
	default:
		return
	}
	p.name(named)
}

// namesOthers reports whether objects of a kind are of use although the kind is not read.
func namesOthers(apiVersion, kind string) bool {
	return apiVersion == rbacv1.SchemeGroupVersion.String() || kind == "ServiceAccount" || kind == "SealedSecret" ||
		kind == "ExternalSecret"
}

// externalKeys returns the keys of the Secret that an ExternalSecret makes, or nothing if it does not list them: then
// it takes what the store has.
func externalKeys(raw map[string]any) []string {
	data, _ := lookup(raw, "spec.data").([]any)
	template, _ := lookup(raw, "spec.target.template.data").(map[string]any)
	merged := lookup(raw, "spec.target.template.mergePolicy") == "Merge"
	if lookup(raw, "spec.dataFrom") != nil || lookup(raw, "spec.target.template.templateFrom") != nil ||
		lookup(raw, "spec.target.creationPolicy") == "Merge" {
		return nil
	}
	keys := slices.Collect(maps.Keys(template))
	if len(template) == 0 || merged {
		for _, item := range data {
			entry, _ := item.(map[string]any)
			if key, ok := entry["secretKey"].(string); ok {
				keys = append(keys, key)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(keys)))
}

// right keeps an object that says who may ask what of the Kubernetes API. It is left to the API server to find
// mistakes.
func (p *parser) right(kind string, raw map[string]any, at place) {
	var value typed
	switch kind {
	case "Role":
		value = &rbacv1.Role{}
	case "ClusterRole":
		value = &rbacv1.ClusterRole{}
	case "RoleBinding":
		value = &rbacv1.RoleBinding{}
	case "ClusterRoleBinding":
		value = &rbacv1.ClusterRoleBinding{}
	default:
		return
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, value) != nil {
		return
	}
	meta := value.GetObjectMeta().(*metav1.ObjectMeta)
	if strings.HasPrefix(kind, "Cluster") {
		meta.Namespace = ""
	} else {
		meta.Namespace = cmp.Or(meta.Namespace, p.opts.DefaultNamespace)
	}
	o := p.of.add(&Object{ID: ID{kind, meta.Namespace, meta.Name}, APIVersion: rbacv1.SchemeGroupVersion.String(),
		Labels: LabelsOf(meta.Labels), Annotations: meta.Annotations, HasValue: true}, at)
	o.body().value = value
	p.result.Rights = append(p.result.Rights, o)
}

func (p *parser) name(n Named) {
	if n.Name != "" && n.Namespace != "" {
		p.result.Named = append(p.result.Named, n)
	}
}

// Rights returns the Roles, ClusterRoles and their bindings, in the order of files and lines. They are not part of
// [Set.All].
func (s *Set) Rights() []*Object { return s.rights }

// Named returns the objects of which only the name is used, by identity.
func (s *Set) Named() map[ID]Named { return s.named }
