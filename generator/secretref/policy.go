package secretref

import (
	"cmp"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
)

// Policy is a secrets policy. It decides which parts of a Secret may be rendered.
//
// +kubebuilder:validation:Enum=reference;plaintext;sops
type Policy string

// The policies; see the package comment.
const (
	Reference Policy = "reference"
	Plaintext Policy = "plaintext"
	// SOPS renders what Plaintext renders, and whoever writes the output encrypts the Secrets: for the renderer it is
	// Plaintext.
	SOPS Policy = "sops"
)

// Rule sets the policy of the Secrets that it matches.
type Rule struct {
	// Namespaces, Names and Types are lists of patterns as for [path.Match]. The Secret must match one pattern of each
	// list; an empty list matches all. A Secret that is not in the inputs has no type.
	Namespaces, Names, Types []string
	Policy                   Policy
}

// Policies decide the policy of a Secret: the policy of the first rule that matches it, otherwise the default.
// ConfigMaps always have the default.
type Policies struct {
	Default Policy
	Rules   []Rule
	// Mirror says how Secrets of other namespaces reach the pods under Reference. Nil mirrors none.
	Mirror *mirror.Settings
	// Encrypted means that Secrets, and no other objects, are encrypted after they are rendered.
	Encrypted bool
}

// Any reports whether any Secret can have a policy.
func (p Policies) Any(policy Policy) bool {
	return p.Default == policy || slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Policy == policy })
}

// Of returns the policy of a Secret or ConfigMap. o is nil if it is not in the inputs.
func (p Policies) Of(id manifest.ID, o *manifest.Object) Policy {
	return p.of(id, func(types []string) bool { return o != nil && matches(types, typeOf(o)) })
}

// OfType returns the policy of a Secret of a type, or of a ConfigMap. An empty type is Opaque.
func (p Policies) OfType(id manifest.ID, secretType string) Policy {
	return p.of(id, func(types []string) bool {
		return matches(types, cmp.Or(secretType, string(corev1.SecretTypeOpaque)))
	})
}

func (p Policies) of(id manifest.ID, hasType func(types []string) bool) Policy {
	if id.Kind == "Secret" {
		for _, r := range p.Rules {
			if matches(r.Namespaces, id.Namespace) && matches(r.Names, id.Name) &&
				(len(r.Types) == 0 || hasType(r.Types)) {
				return r.Policy
			}
		}
	}
	return p.Default
}

func matches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, text)
		return ok
	})
}

func typeOf(o *manifest.Object) string {
	return string(cmp.Or(manifest.As[corev1.Secret](o).Type, corev1.SecretTypeOpaque))
}

// filledByCluster returns the keys of a Secret that Kubernetes fills, and that are therefore not in the inputs.
func filledByCluster(o *manifest.Object) []string {
	if o.Kind != "Secret" || typeOf(o) != string(corev1.SecretTypeServiceAccountToken) {
		return nil
	}
	return []string{corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey, corev1.ServiceAccountNamespaceKey}
}
