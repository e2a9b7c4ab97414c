// Package schema does to an object what the API server does when a custom resource is
// created: set defaults, prune unknown fields, validate.
//
// There are two ways. [Kind.Check] uses Kubernetes' own packages, so that its findings are
// exactly those that a cluster would report. They are slow, so there is [Kind.Accept]: a
// small compiled matcher over the same schema that sets the same defaults and either is
// certain that Check would find nothing, or gives up. Most objects are fine, and never see
// Kubernetes' packages; a test holds that whatever Accept accepts, Check accepts.
package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// crds holds the schemas of the CRDs without their descriptions, one file a kind. No CRD
// has validation rules in CEL, so there is no code for them; a test holds that, too.
//
//go:embed crds/*.json
var crds embed.FS

// kinds compiles each schema when it is first asked for: GrafanaAgent's alone takes some
// milliseconds, and most runs need only a few.
var kinds = lazyKinds()

func lazyKinds() map[string]func() (*Kind, error) {
	entries, _ := crds.ReadDir("crds") // an embedded folder can always be read
	loaders := make(map[string]func() (*Kind, error), len(entries))
	for _, entry := range entries {
		kind := strings.TrimSuffix(entry.Name(), ".json")
		loaders[kind] = sync.OnceValues(func() (*Kind, error) { return load(kind) })
	}
	return loaders
}

// Kind is the schema of one kind. It is safe for concurrent use.
type Kind struct {
	fast *node
	// slow is Kubernetes' own form of the schema. Most runs never need it.
	slow func() (*slow, error)
}

type slow struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// Of returns the schema of a kind. The error is a fault of the build, never of the input.
func Of(kind string) (*Kind, error) {
	loader, found := kinds[kind]
	if !found {
		return nil, fmt.Errorf("no schema of kind %s", kind)
	}
	return loader()
}

func load(kind string) (*Kind, error) {
	data, err := crds.ReadFile("crds/" + kind + ".json")
	if err != nil {
		return nil, err
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &props); err != nil {
		return nil, fmt.Errorf("parse schema of %s: %w", kind, err)
	}
	fast, err := compile(&props)
	if err != nil {
		return nil, fmt.Errorf("compile schema of %s: %w", kind, err)
	}
	fast.properties["metadata"] = &node{types: object, unknown: true}
	return &Kind{fast: fast, slow: sync.OnceValues(func() (*slow, error) { return loadSlow(&props) })}, nil
}

func loadSlow(props *apiextensionsv1.JSONSchemaProps) (*slow, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &slow{structural: structural, validator: validator}, nil
}

// Accept sets defaults and reports whether Check is certain to find nothing. If it returns
// false, some of the defaults are set, which does not change what Check finds. Metadata are
// not looked at.
func (k *Kind) Accept(object map[string]any) bool {
	return k.fast.accept(object)
}

// Check sets defaults, prunes fields that the schema does not know and returns their paths,
// sorted, and returns what is wrong with the rest. Metadata are not looked at.
func (k *Kind) Check(object map[string]any) (unknown []string, errs field.ErrorList) {
	slow, err := k.slow()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	// The order is the API server's, apiextensions' customresource_handler.go.
	defaulting.PruneNonNullableNullsWithoutDefaults(object, slow.structural)
	defaulting.Default(object, slow.structural)
	unknown = pruning.PruneWithOptions(object, slow.structural, true, structuralschema.UnknownFieldPathOptions{
		TrackUnknownFieldPaths: true,
	})
	errs = validation.ValidateCustomResource(nil, object, slow.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, slow.structural, object)...)
	return unknown, errs
}

// Siblings returns the names that the parent of the field at path knows, sorted.
// A path is spelled as [Kind.Check] returns it.
func (k *Kind) Siblings(path string) []string {
	slow, err := k.slow()
	if err != nil {
		return nil
	}
	parent := slow.structural
	for parent != nil {
		name, rest, found := nextName(path)
		if !found {
			break
		}
		path = rest
		parent = descend(parent, name)
	}
	if parent == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(parent.Properties))
}

// nextName takes the first name off a path, unless it is the last.
func nextName(path string) (name, rest string, found bool) {
	i := strings.IndexAny(path, ".[")
	if i < 0 {
		return "", "", false
	}
	rest = strings.TrimLeft(path[i:], ".[]0123456789") // indices do not matter to a schema
	return path[:i], rest, rest != ""
}

// descend returns the schema of a field, or of a list's items.
func descend(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if property, found := s.Properties[name]; found {
		s = &property
	} else if s.AdditionalProperties != nil {
		s = s.AdditionalProperties.Structural
	} else {
		return nil
	}
	for s != nil && s.Items != nil {
		s = s.Items
	}
	return s
}
