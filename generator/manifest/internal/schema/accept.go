package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// node is a schema compiled for [Kind.Accept]. It is unsure about every value that the fields below cannot decide.
type node struct {
	unsure bool // the schema has something that compile does not know

	types types // the types that a value can have

	properties map[string]*node
	defaults   map[string]any // defaults of properties
	required   []string
	additional *node // the schema of keys that are not properties
	unknown    bool  // all other keys are kept and not checked

	items              *node
	minItems, maxItems int
	unique             bool   // list type set or map: items are sure only if [node.distinct] can tell them apart
	key                string // the only key of a list type map

	enum                 map[string]bool // nil: any string
	pattern              *regexp.Regexp
	minLength, maxLength int // in characters
	minimum, maximum     int64
}

// types is a set of JSON types.
type types uint8

const (
	object types = 1 << iota
	array
	text
	integer
	boolean
	anything
)

// compile compiles a schema. It clears what it knows in a copy of the schema. If anything is left, values of
// this schema are never sure.
func compile(props *apiextensionsv1.JSONSchemaProps) (*node, error) {
	n := &node{
		maxItems: math.MaxInt, maxLength: math.MaxInt, minimum: math.MinInt64, maximum: math.MaxInt64,
	}
	rest := &apiextensionsv1.JSONSchemaProps{}
	// a shallow copy: fields are cleared, and what they point to is not changed
	*rest = *props
	rest.Default, rest.Nullable = nil, false // the parent sets the default; null is never sure
	rest.Description, rest.XMapType = "", nil
	rest.XValidations = nil // see [crds]
	for _, step := range []func(*apiextensionsv1.JSONSchemaProps) error{
		n.compileType, n.compileObject, n.compileArray, n.compileString, n.compileNumber,
	} {
		if err := step(rest); err != nil {
			return nil, err
		}
	}
	n.unsure = !reflect.DeepEqual(rest, &apiextensionsv1.JSONSchemaProps{})
	return n, nil
}

func (n *node) compileType(s *apiextensionsv1.JSONSchemaProps) error {
	known := map[string]types{
		"object": object, "array": array, "string": text, "integer": integer, "boolean": boolean,
	}
	n.types = known[s.Type]
	if n.types != 0 {
		s.Type = ""
	}
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		n.unknown = true
		s.XPreserveUnknownFields = nil
		if n.types == 0 && len(s.Properties) == 0 {
			n.types = anything
		}
	}
	if s.XIntOrString && isIntOrString(s.AnyOf) {
		n.types = integer | text
		s.XIntOrString, s.AnyOf = false, nil
	}
	return nil
}

// isIntOrString reports whether the alternatives are the ones of x-kubernetes-int-or-string.
func isIntOrString(alternatives []apiextensionsv1.JSONSchemaProps) bool {
	return len(alternatives) == 0 || reflect.DeepEqual(alternatives, []apiextensionsv1.JSONSchemaProps{
		{Type: "integer"}, {Type: "string"},
	})
}

func (n *node) compileObject(s *apiextensionsv1.JSONSchemaProps) error {
	n.required = s.Required
	n.properties = make(map[string]*node, len(s.Properties))
	n.defaults = map[string]any{}
	for name, property := range s.Properties {
		child, err := compile(&property)
		if err != nil {
			return err
		}
		n.properties[name] = child
		if property.Default != nil {
			var value any
			if err := json.Unmarshal(property.Default.Raw, &value); err != nil {
				return err
			}
			n.defaults[name] = value
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		child, err := compile(s.AdditionalProperties.Schema)
		if err != nil {
			return err
		}
		n.additional = child
		s.AdditionalProperties = nil
	}
	s.Required, s.Properties = nil, nil
	return nil
}

func (n *node) compileArray(s *apiextensionsv1.JSONSchemaProps) error {
	if s.Items != nil && s.Items.Schema != nil {
		child, err := compile(s.Items.Schema)
		if err != nil {
			return err
		}
		n.items = child
		s.Items = nil
	}
	if s.XListType != nil {
		n.unique = *s.XListType != "atomic"
		if len(s.XListMapKeys) == 1 {
			n.key = s.XListMapKeys[0]
		}
		s.XListType, s.XListMapKeys = nil, nil
	}
	if s.MinItems != nil {
		n.minItems = int(*s.MinItems)
		s.MinItems = nil
	}
	if s.MaxItems != nil {
		n.maxItems = int(*s.MaxItems)
		s.MaxItems = nil
	}
	return nil
}

func (n *node) compileString(s *apiextensionsv1.JSONSchemaProps) error {
	if n.types&text == 0 {
		return nil
	}
	if s.Pattern != "" {
		pattern, err := regexp.Compile(s.Pattern)
		if err != nil {
			return err
		}
		n.pattern = pattern
		s.Pattern = ""
	}
	if s.MinLength != nil {
		n.minLength = int(*s.MinLength)
		s.MinLength = nil
	}
	if s.MaxLength != nil {
		n.maxLength = int(*s.MaxLength)
		s.MaxLength = nil
	}
	if n.types == text && s.Enum != nil {
		n.enum = make(map[string]bool, len(s.Enum))
		for _, value := range s.Enum {
			var name string
			if err := json.Unmarshal(value.Raw, &name); err != nil {
				return err
			}
			n.enum[name] = true
		}
		s.Enum = nil
	}
	return nil
}

func (n *node) compileNumber(s *apiextensionsv1.JSONSchemaProps) error {
	if n.types&integer == 0 {
		return nil
	}
	switch s.Format {
	case "int32":
		n.minimum, n.maximum = math.MinInt32, math.MaxInt32
		s.Format = ""
	case "int64":
		s.Format = ""
	}
	if isWhole(s.Minimum) && !s.ExclusiveMinimum {
		n.minimum = max(n.minimum, int64(*s.Minimum))
		s.Minimum = nil
	}
	if isWhole(s.Maximum) && !s.ExclusiveMaximum {
		n.maximum = min(n.maximum, int64(*s.Maximum))
		s.Maximum = nil
	}
	return nil
}

// isWhole reports whether a bound is set and can be compared as an integer.
func isWhole(f *float64) bool {
	return f != nil && *f == math.Trunc(*f) && math.Abs(*f) < 1<<53
}

// accept sets defaults and reports whether the value is certainly valid.
func (n *node) accept(value any) bool {
	if n.unsure {
		return false
	}
	if n.types == anything {
		return value != nil
	}
	switch value := value.(type) {
	case map[string]any:
		return n.types&object != 0 && n.acceptObject(value)
	case []any:
		return n.types&array != 0 && n.acceptArray(value)
	case string:
		return n.types&text != 0 && n.acceptText(value)
	case int64:
		return n.types&integer != 0 && n.minimum <= value && value <= n.maximum
	case bool:
		return n.types&boolean != 0
	}
	return false // null, and numbers with a fraction
}

func (n *node) acceptObject(value map[string]any) bool {
	for name, fallback := range n.defaults {
		if _, found := value[name]; !found {
			value[name] = runtime.DeepCopyJSONValue(fallback)
		}
	}
	for name, item := range value {
		switch property := n.properties[name]; {
		case property != nil:
			if !property.accept(item) {
				return false
			}
		case n.additional != nil:
			if !n.additional.accept(item) {
				return false
			}
		case !n.unknown:
			return false
		}
	}
	for _, name := range n.required {
		if _, found := value[name]; !found {
			return false
		}
	}
	return true
}

func (n *node) acceptArray(value []any) bool {
	if len(value) < n.minItems || len(value) > n.maxItems || n.items == nil {
		return false
	}
	for _, item := range value {
		if !n.items.accept(item) {
			return false
		}
	}
	return !n.unique || len(value) < 2 || n.distinct(value)
}

// distinct reports whether the items of a set, or the keys of a map, are different strings.
func (n *node) distinct(value []any) bool {
	seen := make(map[string]bool, len(value))
	for _, item := range value {
		if object, ok := item.(map[string]any); ok && n.key != "" {
			item = object[n.key]
		}
		text, ok := item.(string)
		if !ok || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

func (n *node) acceptText(value string) bool {
	if n.enum != nil && !n.enum[value] {
		return false
	}
	if n.minLength > 0 || n.maxLength < math.MaxInt {
		if length := utf8.RuneCountInString(value); length < n.minLength || length > n.maxLength {
			return false
		}
	}
	return n.pattern == nil || n.pattern.MatchString(value)
}
