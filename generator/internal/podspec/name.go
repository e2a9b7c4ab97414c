package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

var notLabel = lazyregexp.New(`[^-a-z0-9]+`)

// suffixLength is the length of the hash that makes a name unique.
const suffixLength = 8

// Label returns a name that is a DNS label, as volume names must be: the given one if it is valid, otherwise a
// shortened one with a hash.
func Label(name string) string {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return name
	}
	return hashed(name, name)
}

// ServiceName is [Label] for names of Services, which must begin with a letter.
func ServiceName(name string) string {
	if len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return hashed(name, name)
}

// hashed shortens a name to a DNS label that ends in a hash of the identity.
func hashed(name, identity string) string {
	sum := sha256.Sum256([]byte(identity))
	suffix := "-" + hex.EncodeToString(sum[:])[:suffixLength]
	name = strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "a-" + name
	}
	name = name[:min(len(name), validation.DNS1123LabelMaxLength-len(suffix))]
	return strings.TrimRight(name, "-") + suffix
}

// ObjectVolume returns the operator's volume name for an object's name. Different names can give the same result.
func ObjectVolume(s string) string {
	s = notLabel.ReplaceAllString(strings.ToLower(s), "-")
	return strings.Trim(s[:min(len(s), validation.DNS1123LabelMaxLength)], "-")
}
