package manifest

import "strings"

// The functions below recognise the common forms of names, keys and values faster than the regular expressions
// of Kubernetes' validation. What they do not recognise can still be valid.

const (
	maxPlain  = 63  // of a DNS label, a label's value, and the name in a key
	maxPrefix = 253 // of the prefix of a key
)

// isPlainName reports whether a name is a DNS label.
func isPlainName(s string) bool {
	return isPlain(s, maxPlain, func(c byte) bool {
		return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
	}, "-")
}

// isPlainValue reports whether a label's value is valid and not empty.
func isPlainValue(s string) bool {
	return isPlain(s, maxPlain, isAlphanumeric, "-_.")
}

// isPlainKey reports whether the key of a label or annotation is valid: a name, or DNS labels joined by dots, a
// slash and a name.
func isPlainKey(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		return isPlainValue(s)
	}
	if len(prefix) > maxPrefix || !isPlainValue(name) {
		return false
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !isPlainName(label) {
			return false
		}
	}
	return true
}

// isPlain reports whether a text has 1 to limit characters: of the alphabet, and of others except at the
// beginning and the end.
func isPlain(s string, limit int, alphabet func(byte) bool, others string) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if alphabet(s[i]) {
			continue
		}
		if i == 0 || i == len(s)-1 || strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
