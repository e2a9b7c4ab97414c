package passthrough

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names of folders. They are not valid names of namespaces or GrafanaAgents.
const (
	folder        = "_passthrough"
	clusterFolder = "_cluster"
)

// Unit returns the name of the unit with the objects that are passed through to a namespace or, if it is empty, with
// those that have none.
func Unit(namespace string) string { return cmp.Or(namespace, clusterFolder) + "/" + folder }

// IsUnit reports whether a name is one that [Unit] returns.
func IsUnit(unit string) bool {
	namespace, name, _ := strings.Cut(unit, "/")
	return name == folder && (namespace == clusterFolder || len(validation.IsDNS1123Label(namespace)) == 0)
}

// maxFileName leaves room within the 255 bytes of a file name.
const maxFileName = 150

// FileName returns the name of an object's file. In a name that some file systems do not allow, a part is replaced by
// a hash.
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
