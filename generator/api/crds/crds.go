// Package crds holds the CustomResourceDefinitions of the kinds that agentry reads, with
// descriptions, and makes JSON Schemas of them for editors.
//
// agentry needs no CRD in any cluster. They are of use to people who keep the operator's
// resources in a cluster as well, and to tools that read CRDs. The YAML is generated from
// the Go types ("make generate").
package crds

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// CRD is one definition.
type CRD struct {
	Kind string
	// File is the name that the CRD usually goes by, <group>_<plural>.yaml.
	File string
	// YAML is the definition as one document, without a leading separator.
	YAML []byte
}

// All returns the CRDs in the order of their files: by group and plural.
func All() ([]CRD, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all := make([]CRD, 0, len(entries))
	for _, entry := range entries {
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, err
		}
		kind, err := kindOf(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all = append(all, CRD{Kind: kind, File: entry.Name(), YAML: data})
	}
	return all, nil
}

// kindOf reads the one line that says which kind a definition is of: parsing all of a CRD
// to learn its name would take longer than everything else here.
func kindOf(data []byte) (string, error) {
	const key = "\n    kind: "
	_, rest, found := strings.Cut(string(data), key)
	if !found {
		return "", fmt.Errorf("no %q in spec.names", "kind")
	}
	kind, _, _ := strings.Cut(rest, "\n")
	return kind, nil
}

// Find returns the CRD of a kind, in any capitalisation, or by its plural.
func Find(kind string) (CRD, error) {
	all, err := All()
	if err != nil {
		return CRD{}, err
	}
	i := slices.IndexFunc(all, func(c CRD) bool {
		_, plural, _ := strings.Cut(strings.TrimSuffix(path.Base(c.File), ".yaml"), "_")
		return strings.EqualFold(c.Kind, kind) || plural == kind
	})
	if i < 0 {
		return CRD{}, fmt.Errorf("no CRD of kind %q", kind)
	}
	return all[i], nil
}

// decode parses the definition.
func (c CRD) decode() (*apiextensionsv1.CustomResourceDefinition, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(c.YAML, definition); err != nil {
		return nil, fmt.Errorf("parse %s: %w", c.File, err)
	}
	return definition, nil
}
