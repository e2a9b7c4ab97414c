package installation

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// File is an input.
type File struct {
	// Path is relative and slash-separated.
	Path string
	Data []byte
	// Stub is the Secret that the file is a stub for. The name of a stub does not end in .yaml, so that nothing reads
	// it before it is filled in.
	Stub manifest.ID
}

// Files returns the inputs of an installation, by path. out is the render of all its objects.
func (in *Installation) Files(out *generator.Output, policy secretref.Policy) ([]File, error) {
	kept := in.custom()
	for _, o := range slices.Concat(in.accounts(), in.referred(out, "ConfigMap")) {
		kept[idOf(o)] = o
	}
	namespaces := map[string]bool{}
	for id := range kept {
		namespaces[id.Namespace] = true
	}
	for _, o := range in.of(manifest.NamespaceKind) {
		if namespaces[o.GetName()] {
			kept[idOf(o)] = o
		}
	}
	var files []File
	for _, id := range slices.SortedFunc(maps.Keys(kept), manifest.ID.Compare) {
		text, err := yaml.Marshal(clean(kept[id]).Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		files = append(files, File{Path: pathOf(id), Data: text})
	}
	for _, o := range in.needed(out, policy) {
		files = append(files, File{Path: pathOf(idOf(o)) + ".stub", Data: stub(o), Stub: idOf(o)})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// Manifests returns all objects that can be rendered, including values of Secrets, but without objects that the
// operator created.
func (in *Installation) Manifests(options manifest.Options) *manifest.Set {
	var results []manifest.Result
	for _, id := range in.ids {
		if !slices.Contains(manifest.Kinds(), id.Kind) || isMade(in.objects[id]) {
			continue
		}
		text, err := yaml.Marshal(clean(in.objects[id]).Object)
		if err != nil {
			continue // Files returns the error
		}
		results = append(results, manifest.Parse(manifest.File{Path: pathOf(id), Data: text}, options))
	}
	return manifest.NewSet(results...)
}

// pathOf returns the path of an object's file: in cluster/ if it has no namespace, otherwise in the namespace's
// folder.
func pathOf(id manifest.ID) string {
	folder := id.Namespace
	if folder == "" {
		folder = "cluster"
	}
	return path.Join(folder, passthrough.FileName(id.Kind, id.Name))
}

func idOf(o *unstructured.Unstructured) manifest.ID {
	return manifest.ID{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// custom returns the custom resources.
func (in *Installation) custom() map[manifest.ID]*unstructured.Unstructured {
	out := map[manifest.ID]*unstructured.Unstructured{}
	for _, id := range in.ids {
		if id.Kind != "Secret" && id.Kind != "ConfigMap" && id.Kind != manifest.NamespaceKind &&
			slices.Contains(manifest.Kinds(), id.Kind) {
			out[id] = in.objects[id]
		}
	}
	return out
}

// accounts returns the ServiceAccounts of GrafanaAgents, and the objects that grant them rights.
func (in *Installation) accounts() (out []*unstructured.Unstructured) {
	names := map[string]bool{}
	for _, agent := range in.of(v1alpha1.GrafanaAgentKind) {
		if name, _, _ := unstructured.NestedString(agent.Object, "spec", "serviceAccountName"); name != "" {
			names[agent.GetNamespace()+"/"+name] = true
		}
	}
	for _, account := range in.of("ServiceAccount") {
		if names[account.GetNamespace()+"/"+account.GetName()] {
			out = append(out, account)
		}
	}
	for _, binding := range in.of("RoleBinding", "ClusterRoleBinding") {
		subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
		if !slices.ContainsFunc(subjects, func(s any) bool {
			subject, _ := s.(map[string]any)
			return subject["kind"] == "ServiceAccount" && names[fmt.Sprint(subject["namespace"], "/", subject["name"])]
		}) {
			continue
		}
		out = append(out, binding)
		kind, _, _ := unstructured.NestedString(binding.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
		role := manifest.ID{Kind: kind, Name: name}
		if kind == "Role" {
			role.Namespace = binding.GetNamespace()
		}
		if o := in.objects[role]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// referred returns the objects of a kind that are rendered, or that rendered pods refer to.
func (in *Installation) referred(out *generator.Output, kind string) (list []*unstructured.Unstructured) {
	for _, u := range out.Units {
		for _, id := range u.Inputs {
			if o := in.objects[id]; o != nil && id.Kind == kind && !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	return list
}

// needed returns the Secrets that have to be in Git under a policy.
func (in *Installation) needed(out *generator.Output, policy secretref.Policy) []*unstructured.Unstructured {
	if policy == secretref.Plaintext {
		return in.referred(out, "Secret")
	}
	var list []*unstructured.Unstructured
	// Hand-written jobs are configuration.
	for _, instance := range in.of(v1alpha1.MetricsInstanceKind, v1alpha1.LogsInstanceKind) {
		name, _, _ := unstructured.NestedString(instance.Object, "spec", "additionalScrapeConfigs", "name")
		if o := in.objects[manifest.ID{Kind: "Secret", Namespace: instance.GetNamespace(), Name: name}]; o != nil &&
			!slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// stub returns a Secret with its keys but without its values.
func stub(o *unstructured.Unstructured) []byte {
	kept := stubOf(o)
	unstructured.RemoveNestedField(kept, "metadata", "labels")
	text, err := yaml.Marshal(kept)
	if err != nil {
		return nil // unreachable: maps of strings can be encoded
	}
	return append([]byte("# A stub without values. Fill them in, and drop .stub from the file's name.\n"), text...)
}
