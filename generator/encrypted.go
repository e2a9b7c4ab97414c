package generator

import (
	"slices"

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
		if policies.OfType(id, n.Encrypted.Type) == secretref.Plaintext {
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
