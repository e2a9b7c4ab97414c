package manifest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
)

// TestDecodeIsTheConverter compares [decode] with Kubernetes' converter, for objects as people write them and for the
// same without each of their fields, and with other values in it. Only the converter may know values that the schema
// refuses.
func TestDecodeIsTheConverter(t *testing.T) {
	paths, err := filepath.Glob("../../test/conformance/*operator/*/input.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	decoded, compared := map[string]int{}, 0
	compare := func(object map[string]any) {
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		of := schema.Of(kind)
		want, got, fast := newValue(apiVersion, kind), newValue(apiVersion, kind), newValue(apiVersion, kind)
		if of == nil || want == nil || !of.Accept(object) {
			return
		}
		wantErr := runtime.DefaultUnstructuredConverter.FromUnstructured(object, want)
		gotErr := decode(object, got)
		if compared++; (wantErr == nil) != (gotErr == nil) || wantErr == nil && !reflect.DeepEqual(want, got) {
			t.Errorf("%v: errors %v and %v (-converter +decode):\n%s", object, wantErr, gotErr, cmp.Diff(want, got))
		}
		into := reflect.ValueOf(fast).Elem()
		if decoderOf(into.Type())(object, into) {
			decoded[kind]++
		}
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range stream.Documents(data) {
			value, _, err := yamlvalue.Decode(string(document.Text))
			object, isObject := value.(map[string]any)
			if err != nil || !isObject {
				continue
			}
			delete(object, "metadata")
			compare(object)
			for set := range changes(object) {
				for _, other := range []any{"", "2", int64(1) << 40, int64(2), true, []any{}, map[string]any{}} {
					set(other)
					compare(object)
				}
			}
		}
	}
	t.Logf("%d compared, decoded without the converter: %v", compared, decoded)
	for _, kind := range append(ownKinds(), promKinds()...) {
		switch kind {
		case v1alpha1.MetricsIntegrationKind, v1alpha1.IntegrationMonitorKind: // not in the corpus
		default:
			if decoded[kind] == 0 {
				t.Errorf("%s is always left to the converter", kind)
			}
		}
	}
}

// changes yields a function for each value in another, which sets it. Afterwards the value is as before.
func changes(value any) func(yield func(set func(any)) bool) {
	return func(yield func(set func(any)) bool) {
		var visit func(value any) bool
		visit = func(value any) bool {
			switch value := value.(type) {
			case map[string]any:
				for key, item := range value {
					if !yield(func(v any) { value[key] = v }) {
						return false
					}
					value[key] = item
					if !visit(item) {
						return false
					}
				}
			case []any:
				for i, item := range value {
					if !yield(func(v any) { value[i] = v }) {
						return false
					}
					value[i] = item
					if !visit(item) {
						return false
					}
				}
			}
			return true
		}
		visit(value)
	}
}
