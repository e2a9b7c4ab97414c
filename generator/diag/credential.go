package diag

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// credentialWord matches words that name a credential, as a part of a key or of a text.
const credentialWord = `passw|passphrase|pwd|token|secret|credential|basic_?auth|oauth|authorization|bearer|sigv4|api_?key|access_?key|private_?key|community|cookie|dsn|data_source|connection_?string`

var (
	// namesCredential matches the key of a field that can hold a credential.
	namesCredential = regexp.MustCompile(`(?i)` + credentialWord +
		`|auth|key$|uri$|headers?$|^(?:env|args|command|config|value)$`)
	// credentialText matches lines that name such a field.
	credentialText = regexp.MustCompile(`(?i)` + credentialWord +
		`|(?:auth\w*|key|uri|headers?|\b(?:env|args|command|config|value))["']?\s*:`)
	// setting matches a credential in the parameters of a URL or of a data source name.
	setting = regexp.MustCompile(`(?i)(?:pass\w*|pwd|token|secret|key|sig|signature|auth\w*)\s*=`)
	// userInfo matches a user or a password before a host. Passwords can hold slashes.
	userInfo = regexp.MustCompile(`://[^\s"']*@|[^\s"':]+:[^\s"']*@`)
	// sshUser matches the user of an SSH URL, who is not a secret.
	sshUser = regexp.MustCompile(`\bssh://\w+@|(?:^|[\s"'])\w+@[\w.-]+:`)
	// longWord matches words as long as generated tokens.
	longWord = regexp.MustCompile(`[A-Za-z0-9+_=-]{20,}`)
)

// MayQuote reports whether a message may quote the text of a field: not if the field's path or the text suggests a
// credential.
func MayQuote(path, text string) bool {
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(".[]>", r) }) {
		if namesCredential.MatchString(key) {
			return false
		}
	}
	return !looksSecret(text)
}

// credentialLine reports whether a line names a field that can hold a credential.
func credentialLine(line []byte) bool {
	return credentialText.Match(bytes.TrimSpace(line))
}

// looksSecret reports whether a text looks like a credential, whatever field it is in.
func looksSecret(text string) bool {
	if userInfo.MatchString(sshUser.ReplaceAllString(text, " ")) || setting.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(longWord.FindAllString(text, -1), isRandom)
}

// isRandom reports whether a word mixes digits with letters of both cases, as a generated token does.
func isRandom(word string) bool {
	return strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsUpper) &&
		strings.ContainsFunc(word, unicode.IsLower)
}
