package validity

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// mirrors are the objects that mirror Secrets in the scenarios of the generator: what is expected there is what is
// rendered.
func mirrors(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, file := range glob(t, "generator/testdata/mirror-*.txtar") {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasPrefix(f.Name, "out/") &&
				(strings.HasSuffix(f.Name, ".externalsecret.yaml") || strings.HasSuffix(f.Name, ".secretstore.yaml")) {
				out = append(out, harness.Decode(t, f.Data)...)
			}
		}
	}
	return out
}

// TestMirrorsAreExternalSecrets: an API server that has the definitions of the External Secrets Operator takes every
// ExternalSecret and SecretStore that is rendered, strictly, and refuses what is wrong with them. What the controller
// makes of them is not tried: see [harness.ExternalSecrets]. Nor are reflectors tried: the module proxy does not have
// kubernetes-replicator, and Reflector is no Go program.
func TestMirrorsAreExternalSecrets(t *testing.T) {
	applier := cluster.NewApplier(t)
	crds, err := harness.ExternalSecretsCRDs()
	if err != nil {
		t.Fatal(err)
	}
	applier.MustApply(t, harness.Decode(t, crds), "CustomResourceDefinition")
	for _, kind := range []string{"externalsecrets", "secretstores"} {
		harness.Eventually(t, "the API server serves "+kind, func() error { return applier.Knows(kind) })
	}
	kinds := map[string]int{}
	for _, o := range mirrors(t) {
		cluster.OpenNamespaces(t, o.GetNamespace())
		if err := applier.Apply(t, o, false); err != nil {
			t.Errorf("%s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		kinds[o.GetKind()]++
		for name, value := range map[string]any{"unknown": "x", "refreshInterval": []any{}, "provider": "x",
			"target": "x"} {
			wrong := o.DeepCopy()
			wrong.Object["spec"].(map[string]any)[name] = value
			if err := applier.Apply(t, wrong, true); err == nil {
				t.Errorf("%s %s: a wrong %s is taken", o.GetKind(), o.GetName(), name)
			}
		}
	}
	if kinds["ExternalSecret"] < 5 || kinds["SecretStore"] < 1 {
		t.Errorf("only %v were tried", kinds)
	}
}
