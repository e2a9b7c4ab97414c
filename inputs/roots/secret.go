package roots

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// ShortestSecret is the length from which a value counts as secret wherever it is: shorter ones are settings such as
// "on" and "30s".
const ShortestSecret = 6

// AddSecret notes the values of Secrets that objects hold which decide what the root gives, such as its custom
// resource. Whatever of the result holds one counts as secret, too.
func (r *Root) AddSecret(values map[string]string) {
	for value, by := range values {
		if len(value) < ShortestSecret {
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
		if s == value || len(s) >= ShortestSecret && strings.Contains(value, s) {
			return true
		}
	}
	return false
}

// Conceal returns diagnostics about the root that quote no part of a value of its Secret.
func (r Root) Conceal(list ...diag.Diagnostic) diag.List {
	out := make(diag.List, len(list))
	for i, d := range list {
		out[i] = manifest.Built{Secret: r.Secret}.Conceal(d)
	}
	return out
}

// hidden is shown in place of a value of a Secret.
const hidden = "***"

// hide returns a text without the values of the root's Secret.
func (r Root) hide(text string) string {
	for _, value := range slices.Sorted(maps.Keys(r.Secret)) {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// withSecrets adds to documents the values of the root's Secret that they hold. What is said about their variables
// holds none.
func (r Root) withSecrets(docs []manifest.Built) []manifest.Built {
	for i, doc := range docs {
		if len(r.Secret) == 0 {
			break
		}
		text, held := kustomize.Strings(doc.Text), maps.Clone(r.Secret)
		maps.DeleteFunc(held, func(value, _ string) bool { return !strings.Contains(text, value) })
		maps.Copy(held, doc.Secret)
		docs[i].Secret = held
		docs[i].PostBuild, docs[i].Unknown = r.hide(doc.PostBuild), maps.Clone(doc.Unknown)
		for name, why := range doc.Unknown {
			docs[i].Unknown[name] = r.hide(why)
		}
	}
	return docs
}
