package generator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Needs returns the encrypted objects of a set whose values the options render, in a fixed order: objects that another
// object refers to, except under the secrets policy reference. The caller decrypts them; see [manifest.Set.Open].
func (o *Options) Needs(set *manifest.Set) []manifest.ID {
	policies := o.policies()
	if !policies.Any(secretref.Plaintext) {
		return nil
	}
	wanted := map[manifest.ID]bool{}
	for id, n := range set.Named() {
		if n.Encrypted == nil || set.Get(id) != nil {
			continue
		}
		known := *n.Encrypted.Object
		known.Value = &corev1.Secret{Type: corev1.SecretType(n.Encrypted.Type)}
		if policies.Of(id, &known) == secretref.Plaintext {
			wanted[id] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var out []manifest.ID
	for _, object := range set.All() {
		for _, id := range secretref.Mentioned(object) {
			if wanted[id] {
				wanted[id] = false
				out = append(out, id)
			}
		}
	}
	slices.SortFunc(out, manifest.ID.Compare)
	return out
}
