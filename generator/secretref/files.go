package secretref

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// FilesDir is the folder in which integrations find the files that they list in spec.secrets and spec.configMaps, as
// secrets/<namespace>/<name>/<key> and configMaps/<namespace>/<name>/<key>. This is the layout of the operator's
// second RFC.
const FilesDir = "/etc/grafana-agent/integrations"

// The folders of the operator's first RFC, with whole Secrets and ConfigMaps by name.
const (
	SecretsDir    = "/etc/grafana-agent/secrets"
	ConfigMapsDir = "/etc/grafana-agent/configmaps"
)

// listing is a key, or a whole Secret or ConfigMap, that an integration lists.
type listing struct {
	object *manifest.Object // the first object that lists it
	path   string
	ref    Ref
	keys   []string // all keys of a whole object under Plaintext
	pods   Group
}

// whole reports whether all keys are listed.
func (l *listing) whole() bool { return l.ref.Key == "" }

// sameName reports whether both have the same folder in the layout of the first RFC.
func (l *listing) sameName(other *listing) bool {
	return l.whole() && other.whole() && l.pods&other.pods != 0 &&
		l.ref.Kind == other.ref.Kind && l.ref.Name == other.ref.Name && l.ref.Namespace != other.ref.Namespace
}

// Mount claims the files that an Integration or MetricsIntegration lists in spec.secrets and spec.configMaps, for the
// pods of [Resolver.Use]. An entry that does not resolve is an error of the object. Under Plaintext everything must be
// in the inputs, because a pod never starts if it mounts a key that the shared Secret lacks.
func (s Scope) Mount() {
	for _, f := range files(s.object) {
		if keys, ok := s.mountable(f.Path, f.Ref); ok {
			s.list(&listing{object: s.object, path: f.Path, ref: f.Ref, keys: keys, pods: s.group})
		}
	}
}

// files returns the entries of spec.secrets, followed by the entries of spec.configMaps.
func files(o *manifest.Object) []Field {
	var out []Field
	add := func(kind, list string, i int, name, key string, optional *bool) {
		out = append(out, Field{Path: fmt.Sprintf("spec.%s[%d]", list, i), Ref: Ref{Kind: kind, Namespace: o.Namespace,
			Name: name, Key: key, Optional: optional != nil && *optional}})
	}
	switch v := o.Value().(type) {
	case *v1alpha1.Integration:
		for i, k := range v.Spec.Secrets {
			add("Secret", "secrets", i, k.Name, k.Key, k.Optional)
		}
		for i, k := range v.Spec.ConfigMaps {
			add("ConfigMap", "configMaps", i, k.Name, k.Key, k.Optional)
		}
	case *v1alpha1.MetricsIntegration:
		for i, k := range v.Spec.Secrets {
			add("Secret", "secrets", i, k.Name, k.Key, k.Optional)
		}
		for i, k := range v.Spec.ConfigMaps {
			add("ConfigMap", "configMaps", i, k.Name, k.Key, k.Optional)
		}
	}
	return out
}

// mountable reports an entry that the pods could not mount. Under Plaintext it claims the content and returns the
// keys. Under Reference it returns no keys, because the cluster has the content.
func (s Scope) mountable(path string, ref Ref) (keys []string, ok bool) {
	_, integration := s.object.Value().(*v1alpha1.Integration)
	oneKey := ref.Key != "" || integration // an Integration cannot list whole objects
	if !s.validName(path, ref) || oneKey && !s.validKey(path, ref) || !s.reachable(path, ref) {
		return nil, false
	}
	policy := s.policyOf(ref)
	switch {
	case policy == Plaintext && oneKey:
		return []string{ref.Key}, s.claim(path, ref) != nil
	case policy == Plaintext:
		return s.claimAll(path, ref)
	case oneKey:
		_, ok = s.lookup(path, ref, false)
		return []string{ref.Key}, ok
	}
	return nil, true
}

// claimAll claims every key of a Secret or ConfigMap, and returns the keys.
func (s Scope) claimAll(path string, ref Ref) ([]string, bool) {
	o, _ := s.find(path, ref, true)
	if o == nil {
		return nil, false
	}
	keys := allKeys(o)
	for _, key := range keys {
		one := ref
		one.Key = key
		if s.claim(path, one) == nil {
			return nil, false
		}
	}
	return keys, true
}

func allKeys(o *manifest.Object) []string {
	if o.Kind == "Secret" {
		return slices.Sorted(maps.Keys(manifest.As[corev1.Secret](o).Data))
	}
	cm := manifest.As[corev1.ConfigMap](o)
	keys := append(slices.Collect(maps.Keys(cm.Data)), slices.Collect(maps.Keys(cm.BinaryData))...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// list adds an entry unless it is already listed. It warns if two entries have the same folder in the layout of the
// first RFC.
func (s Scope) list(entry *listing) {
	i := slices.IndexFunc(s.listed, func(known *listing) bool { return known.ref.same(entry.ref) })
	if i < 0 {
		i = len(s.listed)
		s.listed = append(s.listed, entry)
	}
	s.listed[i].pods |= entry.pods
	for _, other := range s.listed {
		if other.sameName(entry) {
			s.ambiguous(entry, other)
			s.ambiguous(other, entry)
		}
	}
}

func (r *Resolver) ambiguous(l, other *listing) {
	d := l.object.Place(diag.SecretKeyCollision.At(l.path, "%s is not mounted at %s: %s has the same name", l.ref,
		l.ref.shortDir(), other.ref).As(diag.Warning))
	d.Hint = "read it at " + l.ref.dir()
	d.Related = []diag.Object{other.object.Ref()}
	r.diags = append(r.diags, d)
}

// dir returns the folder of a Secret or ConfigMap below FilesDir.
func (r Ref) dir() string { return FilesDir + "/" + r.filesPath() }

// filesPath returns the path of a reference relative to FilesDir.
func (r Ref) filesPath() string {
	out := "secrets/"
	if r.Kind == "ConfigMap" {
		out = "configMaps/"
	}
	out += r.Namespace + "/" + r.Name
	if r.Key != "" {
		out += "/" + r.Key
	}
	return out
}

// shortDir returns the folder of a Secret or ConfigMap in the layout of the first RFC.
func (r Ref) shortDir() string {
	if r.Kind == "ConfigMap" {
		return ConfigMapsDir + "/" + r.Name
	}
	return SecretsDir + "/" + r.Name
}
