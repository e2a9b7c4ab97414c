// Package alloynames makes labels for Alloy's components: identifiers that describe what they stand for, and are
// unique.
package alloynames

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Label returns the label of the component for a name like kind/namespace/name: a slash becomes two underscores, a
// dash one. Characters that are rare in Kubernetes names become escapes with a capital letter, which such names do not
// contain, so that different names have different labels.
func Label(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case isLetter(c) || i > 0 && c >= '0' && c <= '9':
			b.WriteByte(c)
		case c == '/':
			b.WriteString("__")
		case c == '-' && i > 0 && isAlphanumeric(name[i-1]) && i+1 < len(name) && isAlphanumeric(name[i+1]) &&
			!beginsEscape(name[i+1]):
			b.WriteByte('_')
		case c == '.':
			b.WriteString("_D_")
		default:
			fmt.Fprintf(&b, "_X%02x_", c)
		}
	}
	return b.String()
}

// beginsEscape reports whether a letter after an underscore would be read as an escape.
func beginsEscape(c byte) bool { return c == 'D' || c == 'X' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isAlphanumeric(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }

// Hashed returns readable words followed by a hash of the text.
func Hashed(words, text string) string {
	sum := sha256.Sum256([]byte(text))
	return words + "_" + hex.EncodeToString(sum[:4])
}

// Words replaces characters that a label cannot contain by underscores.
func Words(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && isAlphanumeric(byte(r)) {
			return r
		}
		return '_'
	}, text), "_")
}

// IsIdentifier reports whether a text is valid as a label.
func IsIdentifier(s string) bool {
	return s != "" && !(s[0] >= '0' && s[0] <= '9') &&
		strings.Trim(s, "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Place returns the position of a component among many: 32 bits of the hash of its namespace, then 32 of its own. A
// file that is too large is split in two by the next bit, so that a change moves few components, and the components of
// a namespace stay together as long as possible.
func Place(namespace, name string) uint64 {
	of := func(s string) uint64 {
		sum := sha256.Sum256([]byte(s))
		return uint64(binary.BigEndian.Uint32(sum[:]))
	}
	return of(namespace)<<32 | of(name)
}
