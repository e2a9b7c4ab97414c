package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/controller-tools/pkg/crd"
)

const (
	// chartSchemas are the schemas of the Helm charts' values.
	chartSchemas = "charts/*/values.schema.json"
	// pipelineDefinition is the definition in them that is the schema of pipelines.
	pipelineDefinition = "pipeline"
)

// valueTypes are the packages of the types that values have. A definition is called as its Go type, and only such names
// begin with a capital letter.
var valueTypes = map[string]string{"PodSecurityContext": corePackage, "SecurityContext": corePackage,
	"EnvVarSource": corePackage, "Volume": corePackage, "Affinity": corePackage, "TLSConfig": promPackage}

var (
	typeName      = regexp.MustCompile(`^[A-Z]`)
	typeReference = regexp.MustCompile(`"#/definitions/([A-Z]\w*)"`)
)

// writeChartSchemas writes the definitions of pipelines and of Go types into the schemas of the charts' values.
func writeChartSchemas(out string, pipeline *props, types *definitions) error {
	for name, of := range valueTypes {
		types.define(types.typeOf(of, name))
	}
	names, err := filepath.Glob(chartSchemas)
	if err != nil {
		return err
	}
	closeObjects(pipeline)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			text, err = types.into(text, pipeline)
		}
		if err == nil {
			err = writeFile(filepath.Join(out, name), text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// definitions are the schemas of Go types, which refer to each other.
type definitions struct {
	parser *crd.Parser
	typeOf func(of, name string) crd.TypeIdent
	made   map[string]definition // by the name of the type
}

type definition struct {
	typ    crd.TypeIdent
	schema *props
}

// refer returns a reference to the definition of a type. Only types with fields have one; others are their own schema.
func (d *definitions) refer(typ crd.TypeIdent) props {
	schema := d.define(typ)
	if len(schema.Properties) == 0 {
		return *schema
	}
	return props{Ref: new("#/definitions/" + typ.Name)}
}

// define returns the schema of a type.
func (d *definitions) define(typ crd.TypeIdent) *props {
	if made, is := d.made[typ.Name]; is {
		if made.typ != typ {
			typ.Package.AddError(fmt.Errorf("%s and %s have one name", typ, made.typ))
		}
		return made.schema
	}
	d.parser.NeedSchemaFor(typ)
	raw := d.parser.Schemata[typ]
	schema := raw.DeepCopy()
	crd.TruncateDescription(schema, 0)
	change(schema, func(s *props) {
		if s.Ref != nil {
			*s = d.refer(typeAt(*s.Ref, typ))
		}
		// These are for API servers.
		s.Default, s.Format, s.XValidations = nil, "", nil
		s.XListType, s.XListMapKeys, s.XMapType = nil, nil, nil
	})
	for _, embedded := range schema.AllOf {
		inner := d.define(typeAt(*embedded.Ref, typ))
		maps.Copy(schema.Properties, inner.Properties)
		schema.Required = append(schema.Required, inner.Required...)
	}
	schema.AllOf = nil
	closeObjects(schema)
	d.made[typ.Name] = definition{typ, schema}
	return schema
}

// typeAt returns the type that a reference in the schema of another type names.
func typeAt(ref string, from crd.TypeIdent) crd.TypeIdent {
	name, of, _ := crd.RefParts(ref) // made by the parser
	if of == "" {
		return crd.TypeIdent{Package: from.Package, Name: name}
	}
	return crd.TypeIdent{Package: from.Package.Imports()[of], Name: name}
}

// into returns the schema of a chart's values with the generated definitions that it needs. All keys are sorted, as
// the tests of the chart write them.
func (d *definitions) into(schema []byte, pipeline *props) ([]byte, error) {
	var values map[string]any
	if err := json.Unmarshal(schema, &values); err != nil {
		return nil, err
	}
	all, ok := values["definitions"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("there are no definitions")
	}
	maps.DeleteFunc(all, func(name string, _ any) bool { return typeName.MatchString(name) })
	if all[pipelineDefinition] != nil {
		all[pipelineDefinition] = pipeline
	}
	if err := d.complete(all, values); err != nil {
		return nil, err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	for name, definition := range values["definitions"].(map[string]any) {
		if typeName.MatchString(name) {
			allowNull(definition)
		}
	}
	text, err = json.MarshalIndent(values, "", "  ")
	return append(text, '\n'), err
}

// complete adds the definitions to which a part of a schema refers, and those to which these refer.
func (d *definitions) complete(all map[string]any, part any) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	for _, match := range typeReference.FindAllSubmatch(text, -1) {
		name := string(match[1])
		if all[name] != nil {
			continue
		}
		made, is := d.made[name]
		if !is {
			return fmt.Errorf("%s is not one of valueTypes", name)
		}
		all[name] = made.schema
		if err := d.complete(all, made.schema); err != nil {
			return err
		}
	}
	return nil
}

// allowNull lets values be null wherever they have a type, which to Kubernetes is as if they were not there.
func allowNull(schema any) {
	switch at := schema.(type) {
	case map[string]any:
		if typ, is := at["type"].(string); is {
			at["type"] = []string{typ, "null"}
			if enum, is := at["enum"].([]any); is {
				at["enum"] = append(enum, nil)
			}
		}
		for _, inner := range at {
			allowNull(inner)
		}
	case []any:
		for _, inner := range at {
			allowNull(inner)
		}
	}
}
