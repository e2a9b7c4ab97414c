package integration

import (
	"regexp"
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
)

// secret marks a credential, so that reviewers do not see it, and remembers one that stands
// there in clear.
func (k *checker) secret(n *node, text, path string, known bool) model.Value {
	if n.kind != secretKind && n.Name != "api_key" { // which the agent does not mark
		return model.String(text)
	}
	if known && holdsCredential(path, text) {
		k.literals = append(k.literals, path)
	}
	return model.Credential(text)
}

// Ways to write a password into an address: user:password@host, and settings with equals
// signs. An @ behind a slash belongs to a path.
var (
	userInfo = regexp.MustCompile(`^[^/@:]*:[^@]+@`)
	setting  = regexp.MustCompile(`(?i)\b(?:password|pwd|passwd)\s*=\s*[^\s;&]`)
)

// holdsCredential reports whether a text of a field that the agent hides is one. Names of
// data sources hold one only where a password is part of them.
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
