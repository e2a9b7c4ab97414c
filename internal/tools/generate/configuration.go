package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

const (
	ownModule   = "github.com/agentry-dev/agentry/"
	corePackage = "k8s.io/api/core/v1"
	metaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configurationKind is a kind that configures agentry itself and has no CRD.
type configurationKind struct {
	kind         string
	folder, name string // of the Go type
	editor       string // file of the schema for editors
}

// path returns the import path of the package.
func (k configurationKind) path() string { return ownModule + k.folder }

var (
	pipelineKind = configurationKind{"Pipeline", "gitsync/pipeline", "Pipeline", "docs/pipeline.schema.json"}
	testKind     = configurationKind{"HierarchyTest", "internal/hierarchytest", "Test",
		"internal/hierarchytest/editor.schema.json"}
)

// workloadTypes are the types of Kubernetes whose values fields of spec.workloads hold. In Go they have no type: they
// are copied as they are written. Env and the like are lists of the type; no type means a mapping of strings.
var workloadTypes = map[string]struct{ of, name string }{
	"annotations":               {},
	"nodeSelector":              {},
	"resources":                 {corePackage, "ResourceRequirements"},
	"env":                       {corePackage, "[]EnvVar"},
	"tolerations":               {corePackage, "[]Toleration"},
	"affinity":                  {corePackage, "Affinity"},
	"topologySpreadConstraints": {corePackage, "[]TopologySpreadConstraint"},
	"updateStrategy":            {"k8s.io/api/apps/v1", "DaemonSetUpdateStrategy"},
}

// durationPattern matches the durations that Go reads.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// maxFieldDepth is how deep spec.integrations[].fields can be nested. A schema cannot refer to itself.
const maxFieldDepth = 6

type props = apiextensionsv1.JSONSchemaProps

// writeConfiguration writes the schemas of pipeline files and of hierarchy tests, the page with the fields of
// pipelines, and what the schemas of the charts' values have of Go types.
func writeConfiguration(out string) error {
	packages := []string{pipelineKind.path(), testKind.path(), promPackage}
	for _, t := range workloadTypes {
		if t.of != "" {
			packages = append(packages, t.of)
		}
	}
	roots, err := loader.LoadRoots(packages...)
	if err != nil {
		return err
	}
	parser, err := newParser()
	if err != nil {
		return err
	}
	known := parser.PackageOverrides[metaPackage]
	parser.PackageOverrides[metaPackage] = func(p *crd.Parser, pkg *loader.Package) {
		known(p, pkg)
		p.Schemata[crd.TypeIdent{Package: pkg, Name: "Duration"}] = props{Type: "string", Pattern: durationPattern}
	}
	typeOf := func(of, name string) crd.TypeIdent {
		i := slices.IndexFunc(roots, func(root *loader.Package) bool { return root.PkgPath == of })
		return crd.TypeIdent{Package: roots[i], Name: name}
	}
	schemaOf := func(of, name string) *props {
		typ := typeOf(of, name)
		parser.NeedFlattenedSchemaFor(typ)
		flat := parser.FlattenedSchemata[typ]
		return flat.DeepCopy()
	}
	pipeline := schemaOf(pipelineKind.path(), pipelineKind.name)
	if err := writeReference(out, pipeline); err != nil {
		return fmt.Errorf("write %s: %w", referencePage, err)
	}
	defined := definitions{parser: parser, typeOf: typeOf, made: map[string]definition{}}
	inChart := pipeline.DeepCopy()
	completePipeline(inChart, func(of, name string) *props {
		return &props{AllOf: []props{defined.refer(typeOf(of, name))}}
	})
	completePipeline(pipeline, schemaOf)
	if err := pipelineKind.writeCompact(out, pipeline); err != nil {
		return err
	}
	for _, schema := range []*props{pipeline, inChart} {
		demandSources(schema)
	}
	if err := pipelineKind.writeEditor(out, pipeline, "Pipeline of agentry"); err != nil {
		return err
	}
	if err := writeChartSchemas(out, inChart, &defined); err != nil {
		return err
	}
	test := schemaOf(testKind.path(), testKind.name)
	if err := testKind.writeCompact(out, test); err != nil {
		return err
	}
	if err := testKind.writeEditor(out, test, "HierarchyTest of agentry"); err != nil {
		return err
	}
	return reported(roots)
}

// completePipeline adds what the Go types leave open: the types of Kubernetes, and integrations' nested fields.
func completePipeline(schema *props, schemaOf func(of, name string) *props) {
	spec := schema.Properties["spec"]
	workload := spec.Properties["workloads"].Items.Schema
	for field, t := range workloadTypes {
		typed := &props{Type: "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &props{Type: "string"}}}
		switch element, isList := strings.CutPrefix(t.name, "[]"); {
		case isList:
			typed = &props{Type: "array",
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: schemaOf(t.of, element)}}
		case t.name != "":
			typed = schemaOf(t.of, t.name)
		}
		crd.TruncateDescription(typed, 0)
		typed.Description = workload.Properties[field].Description
		workload.Properties[field] = *typed
	}
	nest(spec.Properties["integrations"].Items.Schema, "fields", maxFieldDepth)
	change(schema, func(s *props) {
		s.Default = nil // [pipeline.Pipeline.Default] sets them
		if s.Type == "" && !s.XIntOrString && s.AllOf == nil {
			s.XPreserveUnknownFields = new(true) // any value
		}
	})
}

// demandSources says that there is a source, and that one field of its ref has a value. To those who run agentry,
// [pipeline.Pipeline.Validate] says it better.
func demandSources(schema *props) {
	spec := schema.Properties["spec"]
	sources := spec.Properties["sources"]
	sources.MinItems = new(int64(1))
	spec.Properties["sources"] = sources
	source := sources.Items.Schema
	ref := source.Properties["ref"]
	for _, name := range slices.Sorted(maps.Keys(ref.Properties)) {
		ref.OneOf = append(ref.OneOf, props{Required: []string{name},
			Properties: map[string]props{name: {MinLength: new(int64(1))}}})
	}
	source.Properties["ref"] = ref
}

// writeCompact writes the schema of the kind without descriptions, for validation.
func (k configurationKind) writeCompact(out string, schema *props) error {
	compact := schema.DeepCopy()
	crd.TruncateDescription(compact, 0)
	text, err := json.Marshal(compact)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, schemaDir, k.kind+".json"), append(text, '\n'))
}

// writeEditor writes the schema of the kind as the JSON Schema that editors read.
func (k configurationKind) writeEditor(out string, schema *props, title string) error {
	closeObjects(schema)
	schema.Schema, schema.Title = "http://json-schema.org/draft-07/schema#", title
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, k.editor), append(text, '\n'))
}

// closeObjects refuses unknown fields, as JSON Schema says it, and writes descriptions on one line.
func closeObjects(schema *props) {
	change(schema, func(s *props) {
		s.Description = strings.Join(strings.Fields(s.Description), " ")
		if len(s.Properties) > 0 {
			s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{}
		}
	})
}

// nest gives the items of a list a list of the same items, and so on down to a depth.
func nest(of *props, list string, depth int) {
	property := of.Properties[list]
	delete(property.Items.Schema.Properties, list)
	for leaf := property.DeepCopy(); depth > 1; depth-- {
		above := leaf.DeepCopy()
		above.Items.Schema.Properties[list] = property
		property = *above
	}
	of.Properties[list] = property
}

// change changes a schema and all below it.
func change(s *props, by func(*props)) {
	by(s)
	for name, property := range s.Properties {
		change(&property, by)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		change(s.AdditionalProperties.Schema, by)
	}
	if s.Items != nil {
		change(s.Items.Schema, by)
	}
}
