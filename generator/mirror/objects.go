package mirror

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Mirrored is a source with the keys that pods use.
type Mirrored struct {
	Source
	// Keys are sorted. Nil means all keys.
	Keys []string
}

// Object is a Kubernetes object in JSON's types; its metadata has only a namespace and a name.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	Annotations                       map[string]string
	// Fields are its other fields, such as spec.
	Fields map[string]any
}

// v1 is the API version of rendered objects of the External Secrets Operator that are not copies.
const v1 = "external-secrets.io/v1"

// defaultRefresh is the default of RefreshInterval.
const defaultRefresh = "1h"

// Objects returns the objects that mirror the sources for a GrafanaAgent. Each source has passed [Settings.Refusal] or
// is optional; an optional ConfigMap that is not in the inputs is not copied.
func (s *Settings) Objects(agent manifest.ID, of []Mirrored) []Object {
	var out []Object
	byNamespace := map[string][]string{} // Secrets that the Kubernetes provider reads
	for _, m := range of {
		o := Object{Kind: m.Kind, APIVersion: "v1", Namespace: agent.Namespace, Name: Name(agent.Name, m.ID)}
		switch {
		case m.Kind == configMapKind && m.Object == nil:
			continue
		case m.Kind == configMapKind:
			o.Fields = m.copied()
		case s.Reflector != "":
			o.Annotations = map[string]string{permissions[s.Reflector].source: m.Namespace + "/" + m.Name}
		default:
			o.Kind = "ExternalSecret"
			o.APIVersion, o.Fields = s.ExternalSecret.external(agent, o.Name, m)
			if s.ExternalSecret.Kubernetes && !s.ExternalSecret.copies(m) {
				byNamespace[m.Namespace] = append(byNamespace[m.Namespace], m.Name)
			}
		}
		out = append(out, o)
	}
	return append(out, rights(agent, byNamespace)...)
}

// copied returns the data of a ConfigMap.
func (m Mirrored) copied() map[string]any {
	from := manifest.As[corev1.ConfigMap](m.Object)
	data, binary := map[string]any{}, map[string]any{}
	for key, text := range from.Data {
		if m.Keys == nil || slices.Contains(m.Keys, key) {
			data[key] = text
		}
	}
	for key, bytes := range from.BinaryData {
		if m.Keys == nil || slices.Contains(m.Keys, key) {
			binary[key] = base64.StdEncoding.EncodeToString(bytes)
		}
	}
	out := map[string]any{"data": data}
	if len(binary) > 0 {
		out["binaryData"] = binary
	}
	return out
}

// copies reports whether the ExternalSecret of the inputs is copied.
func (e *ExternalSecret) copies(m Mirrored) bool { return e.Copy && uncopyable(m.Named) == "" }

// external returns the API version and the fields of an ExternalSecret that creates a Secret.
func (e *ExternalSecret) external(agent manifest.ID, secret string, m Mirrored) (apiVersion string,
	fields map[string]any) {
	if e.copies(m) {
		return m.Named.External.APIVersion, map[string]any{"spec": withTarget(m.Named.External.Spec, secret)}
	}
	key, store := m.Name, map[string]any{"kind": "SecretStore", "name": storeName(agent.Name, m.Namespace)}
	if e.Store != nil {
		key = strings.NewReplacer("{namespace}", m.Namespace, "{name}", m.Name).Replace(e.Store.Path)
		store = map[string]any{"kind": cmp.Or(e.Store.Kind, ClusterStoreKind), "name": e.Store.Name}
	}
	spec := map[string]any{
		"refreshInterval": cmp.Or(e.RefreshInterval, defaultRefresh), "secretStoreRef": store,
		"target": map[string]any{"name": secret},
	}
	if m.Keys == nil {
		spec["dataFrom"] = []any{map[string]any{"extract": map[string]any{"key": key}}}
		return v1, map[string]any{"spec": spec}
	}
	var data []any
	for _, property := range m.Keys {
		data = append(data, map[string]any{"secretKey": property,
			"remoteRef": map[string]any{"key": key, "property": property}})
	}
	spec["data"] = data
	return v1, map[string]any{"spec": spec}
}

// withTarget returns the spec of an ExternalSecret that creates another Secret.
func withTarget(spec map[string]any, secret string) map[string]any {
	spec = maps.Clone(spec)
	target, _ := spec["target"].(map[string]any)
	target = maps.Clone(target)
	if target == nil {
		target = map[string]any{}
	}
	target["name"] = secret
	spec["target"] = target
	return spec
}

func storeName(agent, namespace string) string { return agent + "." + namespace }

// rights returns the stores that read Secrets of other namespaces, their ServiceAccount, and the Roles by which it may
// get exactly these Secrets.
func rights(agent manifest.ID, byNamespace map[string][]string) (out []Object) {
	if len(byNamespace) == 0 {
		return nil
	}
	account := agent.Name + "-mirror"
	out = append(out, Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: agent.Namespace, Name: account})
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		secrets := slices.Compact(slices.Sorted(slices.Values(byNamespace[namespace])))
		role := agent.Namespace + "." + agent.Name + "." + namespace
		out = append(out,
			Object{APIVersion: v1, Kind: "SecretStore", Namespace: agent.Namespace,
				Name: storeName(agent.Name, namespace), Fields: map[string]any{
					"spec": map[string]any{"provider": map[string]any{"kubernetes": map[string]any{
						"remoteNamespace": namespace,
						"server": map[string]any{"caProvider": map[string]any{"type": "ConfigMap",
							"name": "kube-root-ca.crt", "key": "ca.crt"}},
						"auth": map[string]any{"serviceAccount": map[string]any{"name": account}},
					}}},
				}},
			Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role", Namespace: namespace, Name: role,
				Fields: map[string]any{
					"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"},
						"resourceNames": list(secrets), "verbs": []any{"get"}}},
				}},
			Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Namespace: namespace,
				Name: role, Fields: map[string]any{
					"roleRef": map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": role},
					"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": agent.Namespace,
						"name": account}},
				}},
		)
	}
	return out
}

func list(texts []string) (out []any) {
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}
