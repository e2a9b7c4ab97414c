package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// apiServer is what the API server makes of objects of a kind.
type apiServer struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newAPIServer(t *testing.T, kind string) apiServer {
	t.Helper()
	data, err := schemas.ReadFile("schemas/" + kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &props); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal,
		nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return apiServer{structural, validator}
}

// check sets defaults, prunes and validates.
func (s apiServer) check(object map[string]any) field.ErrorList {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	pruning.Prune(object, s.structural, true)
	errs := validation.ValidateCustomResource(nil, object, s.validator)
	return append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
}

// outcome is an object after a check, and the findings by field: the API server gives some findings another type.
type outcome struct {
	Object map[string]any
	Fields map[string]int
}

func outcomeOf(object map[string]any, errs field.ErrorList) outcome {
	o := outcome{object, map[string]int{}}
	for _, err := range errs {
		o.Fields[err.Field]++
	}
	return o
}

// TestCheckEqualsTheAPIServer compares what is done here with the API server's own packages, which the program must
// not link, for objects in which each field has been replaced by values that could be wrong.
func TestCheckEqualsTheAPIServer(t *testing.T) {
	replacements := []any{nil, "x", "30s", "8080", int64(-1), int64(1) << 40, 1.5, true, []any{}, []any{nil, "a"},
		map[string]any{"x": nil}}
	servers, seen, count := map[string]apiServer{}, map[string]bool{}, 0
	every := 4
	if testing.Short() {
		every = 20
	}
	for _, object := range objects(t) {
		kind, name := kindOf(t, object), object["kind"].(string)
		if _, found := servers[name]; !found {
			servers[name] = newAPIServer(t, name)
		}
		delete(object, "metadata")
		visit(object, "", func(path string, set func(any) func()) {
			if seen[name+path] || t.Failed() {
				return
			}
			seen[name+path] = true
			for _, value := range replacements {
				if count++; count%every != 0 {
					continue
				}
				restore := set(runtime.DeepCopyJSONValue(value))
				ours, theirs := runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(object)
				restore()
				_, errs := kind.Check(ours)
				if diff := cmp.Diff(outcomeOf(theirs, servers[name].check(theirs)), outcomeOf(ours, errs)); diff != "" {
					t.Errorf("%s%s set to %#v (-API server +Check):\n%s", name, path, value, diff)
				}
			}
		})
	}
	t.Logf("%d objects compared", count/every)
}
