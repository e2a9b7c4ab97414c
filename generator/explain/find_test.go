package explain_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/crds"
	"github.com/agentry-dev/agentry/generator/explain"
)

// TestKindsHaveTheNamesThatKubectlKnows: all names of the CRDs mean their kind. The operator's own kinds have no short
// names.
func TestKindsHaveTheNamesThatKubectlKnows(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(c.YAML, &definition); err != nil {
			t.Fatal(err)
		}
		names, group := definition.Spec.Names, definition.Spec.Group
		all := append(names.ShortNames, names.Singular, names.Plural, names.Kind, names.Plural+"."+group)
		for _, name := range all {
			if kind, _ := explain.Kind(name); kind != names.Kind {
				t.Errorf("%s is %q, and not %s", name, kind, names.Kind)
			}
		}
	}
}
