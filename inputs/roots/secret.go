package roots

import (
	"maps"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// shortestSecret is the length from which a value counts as secret wherever it is: shorter ones are settings such as
// "on" and "30s".
const shortestSecret = 6

// AddSecret notes the values of Secrets that objects hold which decide what the root gives, such as its custom
// resource. Whatever of the result holds one counts as secret, too.
func (r *Root) AddSecret(values map[string]string) {
	for value, by := range values {
		if len(value) < shortestSecret {
			continue
		}
		if r.Secret == nil {
			r.Secret = map[string]string{}
		}
		if strings.HasPrefix(by, "${") {
			by = "the variable " + by // which may be in a name: see secretIdentity
		}
		r.Secret[value] = by
	}
}

// HoldsSecret reports whether a value is, or contains, one of the values of Secrets.
func HoldsSecret(value string, secret map[string]string) bool {
	for s := range secret {
		if s == value || len(s) >= shortestSecret && strings.Contains(value, s) {
			return true
		}
	}
	return false
}

// withSecrets adds to documents the values of the root's Secret that they hold.
func (r Root) withSecrets(docs []manifest.Built) []manifest.Built {
	for i, doc := range docs {
		if len(r.Secret) == 0 {
			break
		}
		text, held := kustomize.Strings(doc.Text), maps.Clone(r.Secret)
		maps.DeleteFunc(held, func(value, _ string) bool { return !strings.Contains(text, value) })
		maps.Copy(held, doc.Secret)
		docs[i].Secret = held
	}
	return docs
}
