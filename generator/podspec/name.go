package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

var notLabel = regexp.MustCompile(`[^-a-z0-9]+`)

// suffixLength is that of a hash that makes names unique.
const suffixLength = 8

// Label returns a name as it is if it is a DNS label, as names of volumes must be, and else
// one made of it that is.
func Label(name string) string {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return name
	}
	return hashed(name, name)
}

// ServiceName is [Label] for names of Services, which begin with a letter.
func ServiceName(name string) string {
	if len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return hashed(name, name)
}

// hashed shortens a name to a DNS label and appends a hash of its identity.
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

// ObjectVolume makes a volume name of an object's name, as the operator does. Different
// names can become one.
func ObjectVolume(s string) string {
	s = notLabel.ReplaceAllString(strings.ToLower(s), "-")
	return strings.Trim(s[:min(len(s), validation.DNS1123LabelMaxLength)], "-")
}
