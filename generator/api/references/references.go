// Package references says which fields of the custom resources name other objects, in the form in which kustomize reads
// it.
package references

//go:generate go test . -update

import _ "embed"

//go:embed references.yaml
var config []byte

// YAML returns the nameReference configuration of kustomize for all custom resources that agentry reads.
func YAML() []byte { return append([]byte(nil), config...) }
