package manifest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// Namespaces returns Namespaces that have no manifest, by name, with their labels. Their place in reports is the path.
func Namespaces(labels map[string]map[string]string, path string) Result {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		one, _ := yaml.Marshal(&corev1.Namespace{ // strings can always be encoded
			TypeMeta:   metav1.TypeMeta{APIVersion: coreVersion, Kind: NamespaceKind},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels[name]},
		})
		text = append(append(text, "---\n"...), one...)
	}
	return Parse(File{Path: path, Data: text}, Options{})
}

// namespaceHole stands for the namespace in a pattern of paths.
const namespaceHole = "{namespace}"

// CheckNamespaceFrom returns an error if the pattern is not a valid [Options.NamespaceFrom].
func CheckNamespaceFrom(pattern string) error {
	if strings.Count(pattern, namespaceHole) != 1 {
		return errors.New("must hold " + namespaceHole + " once, as namespaces/{namespace}/** does")
	}
	return CheckPath(strings.Replace(pattern, namespaceHole, "x", 1))
}

// CheckPath returns an error if the pattern is not valid for [IsWithin].
func CheckPath(pattern string) error {
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("must be a relative path in which no part is empty or leads up")
		}
		if part != "**" && part != "*" && strings.ContainsAny(part, "*{}") {
			return errors.New("* and ** must stand alone between slashes")
		}
	}
	return nil
}

// IsWithin reports whether a path is, or is below, a folder or file that a pattern matches: * is any name, ** are any
// folders.
func IsWithin(pattern, path string) bool {
	_, ok := matchFolders(append(strings.Split(pattern, "/"), "**"), strings.Split(path, "/"), "")
	return ok
}

// namespaceFrom returns the namespace that a pattern finds in a path, or "".
func namespaceFrom(pattern, path string) string {
	if pattern == "" {
		return ""
	}
	namespace, ok := matchFolders(strings.Split(pattern, "/"), strings.Split(path, "/"), "")
	if !ok || !isPlainName(namespace) {
		return ""
	}
	return namespace
}

// matchFolders matches the parts of a path with the parts of a pattern, and returns the namespace, which may have been
// found before.
func matchFolders(pattern, path []string, found string) (namespace string, ok bool) {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(path) + 1 {
				if namespace, ok = matchFolders(pattern[1:], path[i:], found); ok {
					return namespace, true
				}
			}
			return "", false
		}
		if len(path) == 0 {
			return "", false
		}
		before, after, isHole := strings.Cut(pattern[0], namespaceHole)
		switch {
		case isHole:
			if len(path[0]) <= len(before)+len(after) || !strings.HasPrefix(path[0], before) ||
				!strings.HasSuffix(path[0], after) {
				return "", false
			}
			found = path[0][len(before) : len(path[0])-len(after)]
		case pattern[0] != "*" && pattern[0] != path[0]:
			return "", false
		}
		pattern, path = pattern[1:], path[1:]
	}
	return found, len(path) == 0
}

// Tenants says whose the files are. A tenant's file may define objects in the tenant's namespace only. The zero value
// has no tenants: all files are the platform's.
type Tenants struct {
	// Folders is a pattern of paths such as teams/{namespace}/**, by [CheckTenants].
	Folders string
	// All is the tenant of all files, whatever their folders.
	All string
	// Mounted has the tenants of the mounted sources, or "" for a source that has none. Its keys are the folders of the
	// mounts, which begin with @. A folder that is not among them is not another source, however it is named.
	Mounted map[string]string
}

// IsSet reports whether there can be tenants.
func (t Tenants) IsSet() bool { return t.Folders != "" || t.All != "" || len(t.Mounted) > 0 }

// Equal reports whether all files have the same tenants.
func (t Tenants) Equal(other Tenants) bool {
	return t.Folders == other.Folders && t.All == other.All && maps.Equal(t.Mounted, other.Mounted)
}

// CheckTenants returns an error if the pattern is not a valid [Tenants.Folders].
func CheckTenants(pattern string) error {
	if err := CheckNamespaceFrom(pattern); err != nil {
		return err
	}
	parts := strings.Split(pattern, "/")
	last := len(parts) - 1
	if last < 1 || parts[last] != "**" || !strings.Contains(parts[last-1], namespaceHole) {
		return errors.New("must end in the tenant's folder and **, as teams/{namespace}/** does")
	}
	if slices.Contains(parts[:last], "**") {
		return errors.New("must hold ** only at the end: the depth of tenants' folders decides whose a file is")
	}
	return nil
}

// Of returns the namespace of the tenant whom a file belongs to. The namespace is empty if the tenant's folder names
// none. A file of no tenant is the platform's.
func (t Tenants) Of(file string) (namespace string, isTenant bool) {
	if !t.IsSet() {
		return "", false
	}
	file, tenant := t.source(file)
	if tenant != "" {
		return tenant, true
	}
	return t.inFolders(file)
}

// source returns a file's path in its own source, and the tenant of the source.
func (t Tenants) source(file string) (name, tenant string) {
	file = path.Clean(file)
	mount, rest, _ := strings.Cut(file, "/")
	if tenant, isMounted := t.Mounted[mount]; isMounted {
		return rest, tenant
	}
	return file, t.All
}

// inFolders returns the tenant whose folder a file is in.
func (t Tenants) inFolders(file string) (namespace string, isTenant bool) {
	if t.Folders == "" {
		return "", false
	}
	folders := strings.Split(path.Dir(file), "/")
	parts := strings.Split(strings.TrimSuffix(t.Folders, "/**"), "/")
	last := len(parts) - 1
	if len(folders) <= last {
		return "", false
	}
	for i, part := range parts[:last] {
		if part != "*" && part != folders[i] {
			return "", false
		}
	}
	namespace, _ = matchFolders(parts[last:], folders[last:last+1], "")
	if !isPlainName(namespace) {
		namespace = ""
	}
	return namespace, true
}

// Same reports whether a file or folder is of the tenant whose a folder is. Of the platform's folders everything is.
func (t Tenants) Same(folder, name string) bool {
	tenant, isTenant := t.Of(folder + "/-")
	if !isTenant || name == folder || strings.HasPrefix(name, folder+"/") {
		return true
	}
	other, isTenant := t.Of(name + "/-")
	return isTenant && tenant != "" && tenant == other
}

// Author is a file that had a say in a built document: it holds the object, a kustomization that the object went
// through, one of its patches, or the custom resource that asks for all that.
type Author struct {
	File string
	// Asks is the custom resource of Flux or Argo CD by which the file had its say, if it had it by one.
	Asks diag.Object
}

// Breach returns the tenant of the first author that must not have a say in the object, with a message and a hint.
// Without a breach, it returns the last tenant among the authors.
func (t Tenants) Breach(id ID, authors []Author) (tenant, message, hint string) {
	for _, a := range authors {
		namespace, isTenant := t.Of(a.File)
		if !isTenant {
			continue
		}
		tenant = namespace
		if message, hint = t.breach(namespace, id, a); message != "" {
			return tenant, message, hint
		}
	}
	return tenant, "", ""
}

// breach returns a message and a hint if a tenant's file must not have a say in an object.
func (t Tenants) breach(tenant string, id ID, by Author) (message, hint string) {
	rule, outside := " (spec.tenancy.folders)", "or define it in a file that no tenant has a say in, outside of "+
		t.Folders
	if _, of := t.source(by.File); of != "" {
		rule, outside = " (spec.sources[].tenant)", "or define it in a source that has no tenant"
	}
	switch {
	case tenant == "":
		return fmt.Sprintf("%s is in a folder that names no namespace, so it may define nothing%s", by.File, rule),
			"rename the folder to the namespace; " + outside
	case by.Asks.Namespace != tenant && strings.Contains(by.Asks.APIVersion, ".toolkit.fluxcd.io/"):
		return fmt.Sprintf("%s is a file of the tenant %s, and asks for it by %s of namespace %q, whose Secrets it "+
				"could read%s", by.File, tenant, by.Asks.Kind, by.Asks.Namespace, rule),
			fmt.Sprintf("move the %s to namespace %s", by.Asks.Kind, tenant)
	case by.Asks.Namespace != tenant && strings.HasPrefix(by.Asks.APIVersion, "argoproj.io/"):
		return fmt.Sprintf("%s is a file of the tenant %s, and asks for it by %s of namespace %q%s", by.File, tenant,
				by.Asks.Kind, by.Asks.Namespace, rule),
			fmt.Sprintf("move the %s to namespace %s (Applications in any namespace)", by.Asks.Kind, tenant)
	case id.Kind == NamespaceKind && id.Name != tenant:
		return fmt.Sprintf("%s is a file of the tenant %s, and may define no other Namespace%s", by.File, tenant, rule),
			outside[len("or "):]
	case id.Kind == NamespaceKind:
		return "", ""
	case isOfCluster(id.Kind):
		return fmt.Sprintf("%s is a file of the tenant %s, and may define no %s, which is in no namespace%s", by.File,
			tenant, id.Kind, rule), outside[len("or "):]
	case id.Namespace != tenant:
		return fmt.Sprintf("%s is a file of the tenant %s, and may define objects in that namespace only, not in %q%s",
				by.File, tenant, id.Namespace, rule),
			"move the object to namespace " + tenant + ", " + outside
	}
	return "", ""
}

// isOfCluster reports whether objects of a kind are in no namespace. The API server drops the namespace of such an
// object, so it counts nothing that a tenant's file names one.
func isOfCluster(kind string) bool {
	return passthrough.IsClusterScoped(kind) || strings.HasSuffix(kind, "Class") || slices.Contains([]string{
		"APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ComponentStatus",
		"CustomResourceDefinition", "DeviceClass",
		"FlowSchema", "IPAddress", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"MutatingWebhookConfiguration", "Node",
		"PersistentVolume", "PriorityLevelConfiguration", "ResourceSlice", "ServiceCIDR", "StorageVersion",
		"ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
	}, kind)
}
