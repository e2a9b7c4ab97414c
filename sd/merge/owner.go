// Package merge turns what integration pods say about themselves into one http_sd document.
//
// A pod's answer is untrusted. [Parse] reads it group by group and makes a [Fragment] of the
// groups that it accepts: one target each, which is the address that was asked; legacy label
// names; no reserved labels; the labels that name the owner always ours. A group that breaks a
// rule is dropped and told, the others stay; an answer that is no single JSON array, or has too
// many groups, is refused as a whole. So no pod can make a consumer refuse the document or send
// it, with its credentials, anywhere but to the pod itself.
//
// [Build] strings fragments together. A [Document] shares their bytes and copies nothing. Both
// are pure: equal answers of equal pods make equal bytes, in whatever order they came.
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
