package crds

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// draft is the newest JSON Schema that yaml-language-server (and so most editors) knows well.
const draft = "http://json-schema.org/draft-07/schema#"

// JSONSchema converts the CRD's schema to a JSON Schema (draft-07) of whole manifests, with
// descriptions. Fields that the API server would prune are errors in it, since an editor's
// user wants to hear of typos.
func (c CRD) JSONSchema() ([]byte, error) {
	definition, err := c.decode()
	if err != nil {
		return nil, err
	}
	version := definition.Spec.Versions[0]
	root := convert(version.Schema.OpenAPIV3Schema)
	root["$schema"] = draft
	root["title"] = definition.Spec.Names.Kind
	root["required"] = append([]string{"apiVersion", "kind", "metadata"}, version.Schema.OpenAPIV3Schema.Required...)
	properties := root["properties"].(map[string]any)
	constant(properties["apiVersion"], definition.Spec.Group+"/"+version.Name)
	constant(properties["kind"], definition.Spec.Names.Kind)
	properties["status"] = map[string]any{"type": "object"}
	// By this, editors find the schema of a document by its kind.
	root["x-kubernetes-group-version-kind"] = []map[string]string{{
		"group": definition.Spec.Group, "version": version.Name, "kind": definition.Spec.Names.Kind,
	}}
	return json.MarshalIndent(root, "", "  ")
}

func constant(property any, value string) {
	if p, ok := property.(map[string]any); ok {
		p["const"] = value
	}
}

// convert translates one schema and all below it. Validations by CEL have no counterpart.
func convert(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := scalars(s)
	if len(s.Properties) > 0 {
		properties := make(map[string]any, len(s.Properties))
		for name, property := range s.Properties {
			properties[name] = convert(&property)
		}
		out["properties"] = properties
		if s.AdditionalProperties == nil && (s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields) {
			out["additionalProperties"] = false
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = convert(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		out["items"] = convert(s.Items.Schema)
	}
	for name, list := range map[string][]apiextensionsv1.JSONSchemaProps{
		"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf,
	} {
		if len(list) == 0 {
			continue
		}
		converted := make([]any, len(list))
		for i := range list {
			converted[i] = convert(&list[i])
		}
		out[name] = converted
	}
	if s.Not != nil {
		out["not"] = convert(s.Not)
	}
	return out
}

// scalars translates what a schema says of its own value.
func scalars(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	set := func(name string, value any, present bool) {
		if present {
			out[name] = value
		}
	}
	set("description", s.Description, s.Description != "")
	if s.Nullable {
		out["type"] = []string{s.Type, "null"}
	} else {
		set("type", s.Type, s.Type != "")
	}
	set("format", s.Format, s.Format != "")
	set("pattern", s.Pattern, s.Pattern != "")
	set("enum", s.Enum, len(s.Enum) > 0)
	set("default", s.Default, s.Default != nil)
	set("required", s.Required, len(s.Required) > 0)
	set("minLength", s.MinLength, s.MinLength != nil)
	set("maxLength", s.MaxLength, s.MaxLength != nil)
	set("minItems", s.MinItems, s.MinItems != nil)
	set("maxItems", s.MaxItems, s.MaxItems != nil)
	set("uniqueItems", true, s.UniqueItems)
	set("minProperties", s.MinProperties, s.MinProperties != nil)
	set("maxProperties", s.MaxProperties, s.MaxProperties != nil)
	set("multipleOf", s.MultipleOf, s.MultipleOf != nil)
	bound(out, "inimum", s.Minimum, s.ExclusiveMinimum)
	bound(out, "aximum", s.Maximum, s.ExclusiveMaximum)
	return out
}

// bound sets minimum or maximum, or the exclusive form, which is a number in JSON Schema
// and a flag in OpenAPI.
func bound(out map[string]any, name string, limit *float64, exclusive bool) {
	if limit == nil {
		return
	}
	first := "m"
	if exclusive {
		first = "exclusiveM"
	}
	out[first+name] = *limit
}
