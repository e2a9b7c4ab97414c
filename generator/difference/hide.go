package difference

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/credential"
)

// placeholder is shown instead of a hidden value.
const placeholder = "<redacted>"

// secrets decides which values of an object are hidden.
type secrets struct {
	// isSecret means that the object is a Secret: all of its data is hidden.
	isSecret bool
	// values are the values in the unit's Secrets. Under the secrets policy plaintext they are also in configurations,
	// where only a comparison with these values finds them.
	values []string
}

// components is the field of Alloy's components, any of which may be an integration or have an HTTP client.
const components = "components"

// minContained is the minimum length in bytes of a secret that is searched for within other texts. A shorter secret is
// compared with whole values only.
const minContained = 4

// shown returns a text without credentials, or a placeholder if the text is or contains a secret.
func (s *secrets) shown(n *node, text string) string {
	switch {
	case text == "":
		return text
	case s.isSecret && isBelow(n, "data", "stringData"), isCredential(n, text) && credential.Written(text):
		return placeholder
	case slices.ContainsFunc(s.values, func(v string) bool {
		return v == text || len(v) >= minContained && strings.Contains(text, v)
	}):
		return placeholder
	}
	return credential.Redacted(text)
}

// isBelow reports whether a node is below a field with one of the names.
func isBelow(n *node, names ...string) bool {
	for ; n != nil; n = n.parent {
		if slices.Contains(names, n.name) {
			return true
		}
	}
	return false
}

// isCredential reports whether the field names around a value mark it as a credential. User names count, because they
// come from Secrets too.
func isCredential(n *node, text string) bool {
	switch n.name {
	case "username", "password", "bearer_token", "credentials", "client_secret", "access_key", "secret_key", "key_pem",
		"connection_string", "consumer_key":
		return true
	case "client_id":
		return isBelow(n, "oauth2")
	case "replacement":
		return credential.InRule(n.parent.str("target_label"), text)
	case "value":
		return credential.InField(n.parent.str("name"), text)
	}
	return credential.InField(n.name, text) || credential.InArgument(text) || isBelow(n, "proxy_connect_header") ||
		isBelow(n, "scrape_configs", "tls_config", components) && credential.InClient(n.name) ||
		isBelow(n, "integrations", components) && credential.InSource(text)
}

// secretValues returns the values of a Secret without a configuration.
func secretValues(manifest *node) (out []string) {
	for _, field := range [...]string{"data", "stringData"} {
		data := manifest.get(field).read()
		if data == nil {
			continue
		}
		for _, f := range data.fields {
			text := data.str(f.name)
			if field == "data" {
				decoded, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					continue
				}
				text = string(decoded)
			}
			if text = strings.TrimSpace(text); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}
