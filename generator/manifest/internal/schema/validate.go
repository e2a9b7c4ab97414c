package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// newValidator returns the validator that the API server uses for the schema of a CRD.
func newValidator(data []byte) (*validate.SchemaValidator, error) {
	s := &spec.Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	typeIntOrString(s)
	return validate.NewSchemaValidator(s, nil, "", strfmt.Default), nil
}

// typeIntOrString says in the words of OpenAPI which fields are an integer or a string, because the validator does
// not know Kubernetes' extension.
func typeIntOrString(s *spec.Schema) {
	if s == nil {
		return
	}
	if is, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); is {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	for name, property := range s.Properties {
		typeIntOrString(&property)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil {
		typeIntOrString(s.AdditionalProperties.Schema)
	}
	if s.Items != nil {
		typeIntOrString(s.Items.Schema)
	}
}

// fieldErrors returns the findings of the validator as errors of fields.
func fieldErrors(found []error) (errs field.ErrorList) {
	for _, err := range found {
		invalid := (*openapi.Validation)(nil)
		if !errors.As(err, &invalid) {
			errs = append(errs, field.Invalid(nil, "", err.Error()))
			continue
		}
		var path *field.Path
		if name := strings.TrimPrefix(invalid.Name, "."); name != "" {
			path = field.NewPath(name)
		}
		value := invalid.Value
		if value == nil {
			value = "" // as the API server has it
		}
		switch invalid.Code() {
		case openapi.RequiredFailCode:
			errs = append(errs, field.Required(path, ""))
		case openapi.EnumFailCode:
			errs = append(errs, field.NotSupported(path, value, names(invalid.Values)))
		case openapi.InvalidTypeCode:
			errs = append(errs, field.TypeInvalid(path, value, invalid.Error()))
		default:
			errs = append(errs, field.Invalid(path, value, invalid.Error()))
		}
	}
	return errs
}

// names returns values as texts: strings as they are, others as JSON.
func names(values []any) (texts []string) {
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			data, _ := json.Marshal(value) // came from JSON
			text = string(data)
		}
		texts = append(texts, text)
	}
	return texts
}
