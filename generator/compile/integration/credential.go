package integration

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// protect marks a value that is a credential or contains one, so that reviewers do not see it, and records its path if
// it is written in clear. text is the value's text.
func (k *checker) protect(n *node, path, text string, v model.Value) model.Value {
	isSecret := n != nil && (n.kind == secretKind || n.Name == "api_key") // which the agent does not mark as a secret
	switch {
	case isSecret && isSource(path):
		if credential.InSource(text) {
			k.literals = append(k.literals, path)
		}
	case isSecret || (n == nil || n.kind == anyKind || n.kind == stringKind) && namesSecret(n, path):
		if credential.Written(authType.ReplaceAllString(text, "")) {
			k.literals = append(k.literals, path)
		}
	case credential.InURL(text):
		k.literals = append(k.literals, path)
	default:
		return v
	}
	return model.Credential{Value: v, Masked: isSecret}
}

// isSource reports whether a secret field is a data source name, which can be without a password.
func isSource(path string) bool {
	return strings.Contains(path, "data_source") || strings.Contains(path, "connection_string") ||
		strings.Contains(path, "_uri")
}

var (
	// secretName matches the fields of credentials in configurations of which the catalogue does not know the fields.
	secretName = lazyregexp.New(
		`(?i)(?:^|[._-])(?:password|passphrase|token|credentials|secret|(?:secret|private|api)[_-]?key)(?:\[[0-9]+\])*$`)
	// secretHeader matches headers with a credential.
	secretHeader = lazyregexp.New(
		`(?i)headers?\.(?:\S*authorization|\S*token|\S*secret|\S*api-?key|cookie)(?:\[[0-9]+\])*$`)
	// authType matches what is in front of the credential of an Authorization header.
	authType = lazyregexp.New(`(?i)^\s*(?:basic|bearer|token)\s+`)
)

// namesSecret reports whether the name of a field says that it is a credential.
func namesSecret(n *node, path string) bool {
	return secretHeader.MatchString(path) || n == nil && secretName.MatchString(path)
}
