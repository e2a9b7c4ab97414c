package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"
)

const (
	ownPackage  = "github.com/agentry-dev/agentry/generator/api/v1alpha1"
	promPackage = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promAlpha   = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	crdDir    = "generator/api/crds"
	schemaDir = "generator/manifest/internal/schema/schemas"

	ownGroup  = "monitoring.grafana.com"
	promGroup = "monitoring.coreos.com"
)

// promKinds are the kinds of the Prometheus Operator that agentry reads.
var promKinds = []string{"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"}

// writeCRDs writes the CRD and the schema of every kind that agentry reads below out.
func writeCRDs(out string) error {
	roots, err := loader.LoadRoots(ownPackage, promPackage, promAlpha)
	if err != nil {
		return err
	}
	parser, err := newParser()
	if err != nil {
		return err
	}
	for _, root := range roots {
		parser.NeedPackage(root)
	}
	for _, kind := range crd.FindKubeKinds(parser, crd.FindMetav1(roots)) {
		if kind.Group != ownGroup && !slices.Contains(promKinds, kind.Kind) {
			continue
		}
		parser.NeedCRDFor(kind, nil)
		if err := writeCRD(out, kind, parser.CustomResourceDefinitions[kind]); err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
	}
	return reported(roots)
}

// newParser returns a parser of Go types that knows controller-gen's markers.
func newParser() (*crd.Parser, error) {
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, err
	}
	parser := &crd.Parser{
		Collector: &markers.Collector{Registry: registry},
		Checker:   &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
		// A claim template has metadata of its own.
		GenerateEmbeddedObjectMeta: true,
	}
	crd.AddKnownTypes(parser)
	return parser, nil
}

// writeCRD writes one kind: the CRD as YAML, and its schema as JSON without descriptions.
func writeCRD(out string, kind schema.GroupKind, definition apiextensionsv1.CustomResourceDefinition) error {
	crd.FixTopLevelMetadata(definition)
	data, err := yaml.Marshal(definition)
	if err != nil {
		return err
	}
	// Only the API server writes the status; an empty one is noise.
	if i := bytes.Index(data, []byte("\nstatus:\n")); i >= 0 {
		data = data[:i+1]
	}
	header := "# Generated from the Go types; run \"make generate\" instead of editing.\n"
	name := fmt.Sprintf("%s_%s.yaml", kind.Group, definition.Spec.Names.Plural)
	if err := writeFile(filepath.Join(out, crdDir, name), append([]byte(header), data...)); err != nil {
		return err
	}

	props := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.DeepCopy()
	crd.TruncateDescription(props, 0)
	compact, err := json.Marshal(props)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, schemaDir, kind.Kind+".json"), append(compact, '\n'))
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// reported prints the errors that generators attach to packages. The loader type-checks no more of the imports than it
// needs, so type errors are expected and skipped.
func reported(roots []*loader.Package) error {
	if loader.PrintErrors(roots, packages.TypeError) {
		return errors.New("some packages failed, see above")
	}
	return nil
}
