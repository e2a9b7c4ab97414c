package integration

import (
	"regexp"
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
)

// secret marks a credential, so that it is redacted for reviewers, and records its path if it is plain text.
func (k *checker) secret(n *node, text, path string, known bool) model.Value {
	if n.kind != secretKind && n.Name != "api_key" { // the agent does not mark api_key as a secret
		return model.String(text)
	}
	if known && holdsCredential(path, text) {
		k.literals = append(k.literals, path)
	}
	return model.Credential(text)
}

// The two ways to write a password into an address: user:password@host, and settings such as password=x. An @
// after a slash belongs to a path.
var (
	userInfo = regexp.MustCompile(`^[^/@:]*:[^@]+@`)
	setting  = regexp.MustCompile(`(?i)\b(?:password|pwd|passwd)\s*=\s*[^\s;&]`)
)

// holdsCredential reports whether the text of a secret field is a credential. A data source name is one only if
// it contains a password.
func holdsCredential(path, text string) bool {
	for _, part := range [...]string{"data_source", "connection_string", "_uri"} {
		if !strings.Contains(path, part) {
			continue
		}
		if _, rest, ok := strings.Cut(text, "://"); ok {
			text = rest
		}
		return userInfo.MatchString(text) || setting.MatchString(text)
	}
	return text != ""
}
