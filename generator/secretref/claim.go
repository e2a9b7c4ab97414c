package secretref

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// claim reserves the file name of a reference and returns what is known of it; nil when
// it does not resolve or another reference has the name, which is then reported, or when
// it is optional and absent.
func (s Scope) claim(path string, ref Ref) *use {
	name := ref.FileName()
	known := s.uses[name]
	same := known != nil && known.ref.Kind == ref.Kind && known.ref.Namespace == ref.Namespace &&
		known.ref.Name == ref.Name && known.ref.Key == ref.Key
	if same {
		return known
	}
	if !s.valid(path, ref, name) {
		return nil
	}
	if s.policy == Reference && ref.Namespace != s.namespace {
		s.report(path, diag.SecretAcrossNS,
			"copy it into the GrafanaAgent's namespace, move the object there, or use the secrets policy plaintext",
			"%s is not in the GrafanaAgent's namespace %s, where its pods could mount it", ref, s.namespace)
		return nil
	}
	data, ok := s.lookup(path, ref, s.policy == Plaintext)
	if !ok {
		return nil
	}
	if known != nil {
		s.collision(path, ref, known)
		return nil
	}
	u := &use{ref: ref, object: s.object, path: path, data: data}
	s.uses[name] = u
	return u
}

// maxFileNameBytes is what a key of a Secret may have (and hardly more than what a file
// system allows).
const maxFileNameBytes = validation.DNS1123SubdomainMaxLength

// valid reports a reference that the pod could not mount: Kubernetes would refuse the
// whole workload for it.
func (s Scope) valid(path string, ref Ref, file string) bool {
	for _, problem := range validation.IsDNS1123Subdomain(ref.Name) {
		s.report(path, diag.MissingSecret, "", "%q is not the name of a %s: %s", ref.Name, ref.Kind, problem)
		return false
	}
	for _, problem := range validation.IsConfigMapKey(ref.Key) {
		s.report(path, diag.MissingKey, "", "%q is not a key of a %s: %s", ref.Key, ref.Kind, problem)
		return false
	}
	if len(file) > maxFileNameBytes {
		s.report(path, diag.InvalidObject, "use shorter names",
			"%s becomes a file with a name of %d bytes, and %d are possible", ref, len(file), maxFileNameBytes)
		return false
	}
	return true
}

// collision blames both holders: nothing tells which of them is right.
func (s Scope) collision(path string, ref Ref, known *use) {
	const hint = "rename one of the two: agents find them under names in which only letters, digits and _ are kept"
	s.report(path, diag.SecretKeyCollision, hint, "%s and %s (used by %s) would be one file in the pod, %s", ref, known.ref, known.object.ID, ref.FileName())
	other := Scope{Resolver: s.Resolver, object: known.object}
	other.report(known.path, diag.SecretKeyCollision, hint, "%s and %s (used by %s) would be one file in the pod, %s", known.ref, ref, s.object.ID, ref.FileName())
}

// lookup returns the content of a reference. Where it need not be in the inputs, a
// missing Secret is fine and nil is returned; a Secret that is there must have the key.
func (s Scope) lookup(path string, ref Ref, required bool) ([]byte, bool) {
	id := manifest.ID{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	o := s.set.Get(id)
	s.looked[id] = o
	if o == nil {
		if !required {
			return nil, true
		}
		s.missing(path, diag.MissingSecret, ref, "there is no such %s in the inputs", ref.Kind)
		return nil, false
	}
	data, ok := content(o, ref.Key)
	if !ok {
		s.missing(path, diag.MissingKey, ref, "it has no such key")
		return nil, false
	}
	return data, true
}

func content(o *manifest.Object, key string) ([]byte, bool) {
	if o.Kind == "Secret" {
		data, ok := manifest.As[corev1.Secret](o).Data[key]
		return data, ok
	}
	cm := manifest.As[corev1.ConfigMap](o)
	if text, ok := cm.Data[key]; ok {
		return []byte(text), true
	}
	data, ok := cm.BinaryData[key]
	return data, ok
}

// missing reports a reference that does not resolve: an error, or a warning when it is
// optional.
func (s Scope) missing(path string, code diag.Code, ref Ref, format string, args ...any) {
	if ref.Optional {
		s.diags = append(s.diags, s.object.Diag(diag.Warning, diag.OptionalMissing, path, "%s is not in the inputs: the setting is left out", ref))
		return
	}
	hint := "correct the reference, or add what it refers to"
	if s.policy == Plaintext && code == diag.MissingSecret {
		hint += "; the secrets policy reference needs no secret in the inputs"
	}
	s.report(path, code, hint, "%s: "+format, append([]any{ref}, args...)...)
}
