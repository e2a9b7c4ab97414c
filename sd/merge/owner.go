// Package merge turns the answers of integration pods into one http_sd document.
//
// A pod's answer is untrusted. [Parse] reads it group by group and makes a [Fragment] of the groups
// that it accepts. Such a group has one target, which is the address that was asked. It has legacy
// label names and no reserved labels, and this package sets the labels that name the owner. A group
// that breaks a rule is dropped and reported; the others stay. An answer that is not one JSON array,
// or has too many groups, is refused as a whole. So no pod can make a consumer refuse the document,
// or send the consumer with its credentials anywhere but to the pod itself.
//
// [Build] joins fragments. A [Document] shares their bytes and copies nothing. Both are pure: equal
// answers of equal pods make equal bytes, in whatever order they came.
package merge

import (
	"cmp"
	"strings"
)

// Owner is the GrafanaAgent that a pod belongs to.
type Owner struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ParseOwner reads namespace/name.
func ParseOwner(text string) (Owner, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return Owner{}, false
	}
	return Owner{Namespace: namespace, Name: name}, true
}

// String returns namespace/name.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Compare orders owners as the document does.
func (o Owner) Compare(other Owner) int {
	return cmp.Or(cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}
