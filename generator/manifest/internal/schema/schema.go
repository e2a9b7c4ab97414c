// Package schema does to an object what the API server does when a custom resource is created: it sets
// defaults, prunes unknown fields and validates.
//
// [Kind.Check] finds what the API server finds: it prunes and validates with the API server's own packages. Two
// small parts of these would link the CEL interpreter, 6.8 MB, for rules that no CRD here has; defaults.go and
// validate.go do their work, and a test compares them with the API server's.
//
// Check is slow, so [Kind.Accept] is tried first: a small matcher over the same schema, generated as tables, which sets
// the same defaults. It either is certain that Check finds nothing, or gives up. Most objects are valid and need only
// Accept. A test checks that Check accepts everything that Accept accepts.
package schema

import (
	"embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// schemas are those of the CRDs without descriptions, and of the kinds that configure agentry, one file for each kind.
// Their few CEL validation rules are not evaluated here but checked when jobs are built; a test lists them.
//
//go:embed schemas/*.json
var schemas embed.FS

// Kind is the schema of one kind. It is safe for concurrent use.
type Kind struct {
	name       string
	isResource bool // of Kubernetes, whose metadata is not checked
	root       *node

	// Kubernetes' own form of the schema. Most runs do not need it.
	once       sync.Once
	structural *structuralschema.Structural
	validator  *validate.SchemaValidator
	broken     error

	// The paths of the mappings that have a field with a name.
	oncePlaces sync.Once
	places     map[string][]string
}

// Of returns the schema of a kind, or nil if there is none.
func Of(kind string) *Kind {
	for i := range kinds {
		if kinds[i].name == kind {
			return &kinds[i]
		}
	}
	return nil
}

// load makes Kubernetes' own form of the schema. An error means a broken build, never a broken input.
func (k *Kind) load() error {
	k.once.Do(func() { k.broken = k.parse() })
	return k.broken
}

// JSON returns the schema as CRDs have it.
func (k *Kind) JSON() []byte {
	data, _ := schemas.ReadFile("schemas/" + k.name + ".json") // each kind has one
	return data
}

func (k *Kind) parse() (err error) {
	data := k.JSON()
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &props); err != nil {
		return err
	}
	var internal apiextensions.JSONSchemaProps
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil)
	if err != nil {
		return err
	}
	if k.structural, err = structuralschema.NewStructural(&internal); err != nil {
		return err
	}
	k.validator, err = newValidator(data)
	return err
}

// Accept sets defaults and reports whether Check is certain to find nothing. If it returns false, some defaults
// are set, which does not change what Check finds. It ignores the metadata of resources.
func (k *Kind) Accept(object map[string]any) bool {
	return k.root.accept(object)
}

// Check sets defaults, prunes fields that the schema does not know and returns their sorted paths, and
// validates the rest. It ignores the metadata of resources.
func (k *Kind) Check(object map[string]any) (unknown []string, errs field.ErrorList) {
	if err := k.load(); err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	// customresource_handler.go of apiextensions has the same order.
	setDefaults(object, k.structural)
	unknown = pruning.PruneWithOptions(object, k.structural, k.isResource, structuralschema.UnknownFieldPathOptions{
		TrackUnknownFieldPaths: true,
	})
	errs = fieldErrors(k.validator.Validate(object).Errors)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	return unknown, errs
}

// Siblings returns the names that the schema of the parent of the field at path knows, sorted. The path has the
// form that [Kind.Check] returns.
func (k *Kind) Siblings(path string) []string {
	parent, _ := k.parent(path)
	if parent == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(parent.Properties))
}

// Requires reports whether the parent of the field at path demands it.
func (k *Kind) Requires(path string) bool {
	parent, name := k.parent(path)
	return parent != nil && parent.ValueValidation != nil && slices.Contains(parent.ValueValidation.Required, name)
}

// Text holds the rules of a schema for a string.
type Text struct {
	Pattern string   // the regular expression that it must match; empty if there is none
	Values  []string // the allowed values; none means any
}

// Text returns the rules of the schema for the string at path.
func (k *Kind) Text(path string) (t Text) {
	parent, name := k.parent(path)
	if parent == nil {
		return t
	}
	field := descend(parent, name)
	if field == nil || field.ValueValidation == nil {
		return t
	}
	for _, value := range field.ValueValidation.Enum {
		if text, ok := value.Object.(string); ok {
			t.Values = append(t.Values, text)
		}
	}
	t.Pattern = field.ValueValidation.Pattern
	return t
}

// parent returns the schema of the parent of the field at path, or nil, and the field's name.
func (k *Kind) parent(path string) (parent *structuralschema.Structural, last string) {
	if k.load() != nil {
		return nil, ""
	}
	parent = k.structural
	for parent != nil {
		name, rest, found := nextName(path)
		if !found {
			break
		}
		path = rest
		parent = descend(parent, name)
	}
	last, _, _ = strings.Cut(path, "[")
	return parent, last
}

// nextName cuts the first name off a path. It returns false if it is the last one.
func nextName(path string) (name, rest string, found bool) {
	i := strings.IndexAny(path, ".[")
	if i < 0 {
		return "", "", false
	}
	rest = strings.TrimLeft(path[i:], ".[]0123456789") // a schema is the same for all indexes
	return path[:i], rest, rest != ""
}

// descend returns the schema of a field, or of a list's items.
func descend(s *structuralschema.Structural, name string) *structuralschema.Structural {
	s = fieldOf(s, name)
	for s != nil && s.Items != nil {
		s = s.Items
	}
	return s
}
