package schema

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// setDefaults gives the fields that are absent their defaults, in place. Null counts as absent where it is not a
// value of the field: it is removed if the field has no default.
func setDefaults(value any, s *structuralschema.Structural) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, found := value[name]; !found && property.Default.Object != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name, item := range value {
			field := fieldOf(s, name)
			if item == nil && field != nil && !field.Nullable {
				if item = field.Default.Object; item == nil {
					delete(value, name)
					continue
				}
				item = runtime.DeepCopyJSONValue(item)
				value[name] = item
			}
			setDefaults(item, field)
		}
	case []any:
		for i, item := range value {
			if item == nil && s.Items != nil && !s.Items.Nullable {
				value[i] = runtime.DeepCopyJSONValue(s.Items.Default.Object)
			}
			setDefaults(value[i], s.Items)
		}
	}
}

// fieldOf returns the schema of a field of an object, or nil.
func fieldOf(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if property, found := s.Properties[name]; found {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}
