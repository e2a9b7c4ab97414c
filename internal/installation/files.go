package installation

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
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

// Files returns the inputs of an installation, by path. out is the render of all its objects under the policies.
func (in *Installation) Files(out *generator.Output, policies secretref.Policies) ([]File, error) {
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
	for _, s := range in.stubs(out, policies) {
		id := idOf(s.secret)
		files = append(files, File{Path: pathOf(id) + ".stub", Data: s.text(), Stub: id})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// Manifests returns all objects that can be rendered, including values of Secrets, but without Secrets that the
// operator created, and what is wrong with them.
func (in *Installation) Manifests(options manifest.Options) (*manifest.Set, diag.List) {
	var found diag.List
	var results []manifest.Result
	for _, id := range in.ids {
		if isSecret := id.Kind == "Secret"; !slices.Contains(manifest.Kinds(), id.Kind) ||
			isSecret && isMade(in.objects[id]) {
			continue
		}
		text, err := yaml.Marshal(clean(in.objects[id]).Object)
		if err != nil {
			continue // Files returns the error
		}
		r := manifest.Parse(manifest.File{Path: pathOf(id), Data: text}, options)
		results, found = append(results, r), append(found, r.Diags...)
	}
	set := manifest.NewSet(results...)
	return set, append(found, set.Diags()...)
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

// accounts returns the ServiceAccounts that GrafanaAgents name, and the objects that grant rights to those of their
// pods: to the account, which is default if none is named, or to all of the namespace.
func (in *Installation) accounts() (out []*unstructured.Unstructured) {
	pods, named := map[string]bool{}, map[string]bool{}
	for _, agent := range in.of(v1alpha1.GrafanaAgentKind) {
		name, _, _ := unstructured.NestedString(agent.Object, "spec", "serviceAccountName")
		named[agent.GetNamespace()+"/"+name] = true
		pods["ServiceAccount "+agent.GetNamespace()+"/"+cmp.Or(name, "default")] = true
		pods["Group /system:serviceaccounts:"+agent.GetNamespace()] = true
	}
	for _, account := range in.of("ServiceAccount") {
		if named[account.GetNamespace()+"/"+account.GetName()] {
			out = append(out, account)
		}
	}
	for _, binding := range in.of("RoleBinding", "ClusterRoleBinding") {
		subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
		if !slices.ContainsFunc(subjects, func(s any) bool {
			subject, _ := s.(map[string]any)
			namespace, _ := subject["namespace"].(string)
			return pods[fmt.Sprintf("%v %s/%v", subject["kind"], namespace, subject["name"])]
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

// referred returns the objects of a kind that are rendered, or that objects below a GrafanaAgent refer to, even if it
// is not rendered because of an error, or paused.
func (in *Installation) referred(out *generator.Output, kind string) (list []*unstructured.Unstructured) {
	add := func(ids []manifest.ID) {
		for _, id := range ids {
			if o := in.objects[id]; o != nil && id.Kind == kind && !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	for _, u := range out.Units {
		add(u.Inputs)
	}
	for _, h := range out.Hierarchies {
		for o := range h.Objects {
			add(secretref.Mentioned(o))
		}
	}
	return list
}

// stub is a Secret that has to be in Git.
type stub struct {
	secret *unstructured.Unstructured
	// needsValues is not set if only its type counts, which decides its policy.
	needsValues bool
}

// stubs returns the Secrets that have to be in Git.
func (in *Installation) stubs(out *generator.Output, policies secretref.Policies) (list []stub) {
	jobs := map[manifest.ID]bool{} // hand-written jobs are configuration under each policy
	for _, instance := range in.of(v1alpha1.MetricsInstanceKind, v1alpha1.LogsInstanceKind) {
		name, _, _ := unstructured.NestedString(instance.Object, "spec", "additionalScrapeConfigs", "name")
		jobs[manifest.ID{Kind: "Secret", Namespace: instance.GetNamespace(), Name: name}] = true
	}
	typesCount := slices.ContainsFunc(policies.Rules, func(r secretref.Rule) bool { return len(r.Types) > 0 })
	for _, o := range in.of("Secret") {
		if jobs[idOf(o)] {
			list = append(list, stub{o, true})
		}
	}
	for _, o := range in.referred(out, "Secret") {
		of, _, _ := unstructured.NestedString(o.Object, "type")
		needsValues := policies.OfType(idOf(o), of) != secretref.Reference
		if !jobs[idOf(o)] && (needsValues || typesCount) {
			list = append(list, stub{o, needsValues})
		}
	}
	return list
}

// text returns the Secret with its type and its keys but without its values.
func (s stub) text() []byte {
	kept := stubOf(s.secret)
	unstructured.RemoveNestedField(kept, "metadata", "labels")
	if of, _, _ := unstructured.NestedString(s.secret.Object, "type"); of != "" {
		kept["type"] = of
	}
	text, err := yaml.Marshal(kept)
	if err != nil {
		return nil // unreachable: maps of strings can be encoded
	}
	comment := "# A stub without values. Fill them in, and drop .stub from the file's name.\n"
	if !s.needsValues {
		comment = "# A stub for the type, which a rule is about: no value is needed. Drop .stub from the file's name.\n"
	}
	return append([]byte(comment), text...)
}
