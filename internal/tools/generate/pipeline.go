package main

import (
	"encoding/json"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

const (
	pipelinePackage = "github.com/agentry-dev/agentry/gitsync/pipeline"
	corePackage     = "k8s.io/api/core/v1"
	metaPackage     = "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelineSchema = "gitsync/pipeline/schema.json"
	editorSchema   = "docs/pipeline.schema.json"
)

// workloadTypes are the types of Kubernetes that fields of spec.workloads have. In Go they have none: they are copied
// as they are written.
var workloadTypes = map[string]string{
	"annotations": "map[string]string", "nodeSelector": "map[string]string",
	"resources": "ResourceRequirements", "env": "[]EnvVar", "tolerations": "[]Toleration", "affinity": "Affinity",
	"topologySpreadConstraints": "[]TopologySpreadConstraint",
}

// durationPattern matches the durations that Go reads.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// maxFieldDepth is how deep spec.integrations[].fields can be nested. A schema cannot refer to itself.
const maxFieldDepth = 6

// writePipeline writes the schema of pipeline files: without descriptions for validation, and with them as the JSON
// Schema that editors read.
func writePipeline(out string) error {
	roots, err := loader.LoadRoots(pipelinePackage, corePackage)
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
		p.Schemata[crd.TypeIdent{Package: pkg, Name: "Duration"}] = apiextensionsv1.JSONSchemaProps{Type: "string",
			Pattern: durationPattern}
	}
	of := func(root *loader.Package, name string) apiextensionsv1.JSONSchemaProps {
		typ := crd.TypeIdent{Package: root, Name: name}
		parser.NeedFlattenedSchemaFor(typ)
		props := parser.FlattenedSchemata[typ]
		return *props.DeepCopy()
	}
	pipeline, core := roots[0], roots[1]
	if pipeline.PkgPath != pipelinePackage {
		pipeline, core = core, pipeline
	}
	props := of(pipeline, "Pipeline")
	spec := props.Properties["spec"]
	workload := spec.Properties["workloads"].Items.Schema
	for field, name := range workloadTypes {
		var typed apiextensionsv1.JSONSchemaProps
		if element, isList := strings.CutPrefix(name, "[]"); isList {
			item := of(core, element)
			typed = apiextensionsv1.JSONSchemaProps{Type: "array",
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
		} else if name == "map[string]string" {
			typed = apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}
		} else {
			typed = of(core, name)
		}
		crd.TruncateDescription(&typed, 0)
		typed.Description = workload.Properties[field].Description
		workload.Properties[field] = typed
	}
	nest(spec.Properties["integrations"].Items.Schema, "fields", maxFieldDepth)
	change(&props, func(s *apiextensionsv1.JSONSchemaProps) {
		s.Default = nil // [pipeline.Pipeline.Default] sets them
		if s.Type == "" && !s.XIntOrString {
			s.XPreserveUnknownFields = new(true) // any value
		}
	})

	compact := props.DeepCopy()
	crd.TruncateDescription(compact, 0)
	text, err := json.Marshal(compact)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(out, pipelineSchema), append(text, '\n')); err != nil {
		return err
	}
	change(&props, func(s *apiextensionsv1.JSONSchemaProps) {
		s.Description = strings.Join(strings.Fields(s.Description), " ")
		if len(s.Properties) > 0 {
			s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{}
		}
	})
	props.Schema, props.Title = "http://json-schema.org/draft-07/schema#", "Pipeline of agentry"
	if text, err = json.MarshalIndent(props, "", "  "); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(out, editorSchema), append(text, '\n')); err != nil {
		return err
	}
	return reported(roots)
}

// nest gives the items of a list a list of the same items, and so on down to a depth.
func nest(of *apiextensionsv1.JSONSchemaProps, list string, depth int) {
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
func change(s *apiextensionsv1.JSONSchemaProps, by func(*apiextensionsv1.JSONSchemaProps)) {
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
