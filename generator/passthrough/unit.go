package passthrough

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names of folders. No namespace and no GrafanaAgent can have such a name.
const (
	folder        = "_passthrough"
	clusterFolder = "_cluster"
)

// Unit returns the name of the unit of what is passed through to a namespace; to none, if it is empty.
func Unit(namespace string) string { return cmp.Or(namespace, clusterFolder) + "/" + folder }

// IsUnit reports whether a unit has that form.
func IsUnit(unit string) bool {
	namespace, name, _ := strings.Cut(unit, "/")
	return name == folder && (namespace == clusterFolder || len(validation.IsDNS1123Label(namespace)) == 0)
}

// maxFileName leaves room in the 255 bytes that a file's name can have.
const maxFileName = 150

// FileName returns the name of an object's file. A name that not every file system can have is replaced in part by a
// hash.
func FileName(kind, name string) string {
	kind = "." + strings.ToLower(kind) + ".yaml"
	if len(name) <= maxFileName && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name + kind
	}
	sum := sha256.Sum256([]byte(name))
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(plain[:min(len(plain), maxFileName)], "-") + "-" + hex.EncodeToString(sum[:4]) + kind
}
