package kustomizer_test

import (
	"errors"
	"sync"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/agentry-dev/agentry/internal/kustomizer"
	"github.com/agentry-dev/agentry/internal/panics"
)

// TestSchemasStayApart: work that sets schemas runs alone, and its schemas are gone afterwards. The race detector
// watches.
func TestSchemasStayApart(t *testing.T) {
	deployment := yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			setsSchemas := i%5 == 0
			err := kustomizer.Run(setsSchemas, func() error {
				if setsSchemas {
					return openapi.SetSchema(nil, []byte(`{"definitions": {}}`), true)
				}
				if openapi.SchemaForResourceType(deployment) == nil {
					return errors.New("the schemas of Kubernetes are gone")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestPanicsAreErrors: a panic of kustomize is an error, and later work succeeds.
func TestPanicsAreErrors(t *testing.T) {
	for _, setsSchemas := range []bool{false, true} {
		if err := kustomizer.Run(setsSchemas, func() error { panic("of kustomize") }); !panics.Is(err) {
			t.Errorf("got %v", err)
		}
	}
	if err := kustomizer.Run(true, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
