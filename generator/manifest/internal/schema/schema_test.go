package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
)

// objects returns what people could have written, as decoded.
func objects(t testing.TB) []map[string]any {
	t.Helper()
	paths, err := filepath.Glob("../../../../test/conformance/*operator/*/input.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []map[string]any
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range stream.Documents(data) {
			value, _, err := yamlvalue.Decode(string(document.Text))
			if err != nil {
				t.Fatal(err)
			}
			object, ok := value.(map[string]any)
			if !ok || !strings.HasPrefix(object["apiVersion"].(string), "monitoring.") {
				continue
			}
			if Of(object["kind"].(string)) != nil { // a Prometheus has no schema here
				all = append(all, object)
			}
		}
	}
	return all
}

// sure reports whether Accept accepts an object, and fails the test if Check then has a
// finding or makes something else of the object.
func sure(t *testing.T, kind *Kind, object map[string]any) bool {
	t.Helper()
	fast, slow := runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(object)
	if !kind.Accept(fast) {
		return false
	}
	unknown, errs := kind.Check(slow)
	if len(unknown) > 0 || len(errs) > 0 {
		t.Errorf("accepted, but unknown %q, errors %v:\n%v", unknown, errs, object)
	}
	if diff := cmp.Diff(slow, fast); diff != "" {
		t.Errorf("accepted, but not what Check makes of it (-check +accept):\n%s", diff)
	}
	return true
}

// unaffected fails the test if Check finds or makes something else after Accept has refused
// an object, and perhaps set defaults in it.
func unaffected(t *testing.T, kind *Kind, object map[string]any) {
	t.Helper()
	after, without := runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(object)
	if kind.Accept(after) {
		return
	}
	unknown, errs := kind.Check(without)
	unknownAfter, errsAfter := kind.Check(after)
	if !cmp.Equal(unknown, unknownAfter) || len(errs) != len(errsAfter) || !cmp.Equal(without, after) {
		t.Errorf("Check finds %q, %v and after Accept %q, %v", unknown, errs, unknownAfter, errsAfter)
	}
}

func kindOf(t *testing.T, object map[string]any) *Kind {
	t.Helper()
	kind := Of(object["kind"].(string))
	return kind
}

func TestAcceptDecidesTypicalManifests(t *testing.T) {
	accepted, valid := 0, 0
	for _, object := range objects(t) {
		kind := kindOf(t, object)
		if sure(t, kind, object) {
			accepted++
		}
		if unknown, errs := kind.Check(runtime.DeepCopyJSON(object)); len(unknown)+len(errs) == 0 {
			valid++
		}
	}
	t.Logf("%d of %d valid objects are accepted", accepted, valid)
	if accepted < valid*9/10 {
		t.Errorf("only %d of %d valid objects are accepted", accepted, valid)
	}
}

// TestAcceptImpliesCheck changes every field of every object, one at a time, to values that
// could be wrong in every way that a schema knows.
func TestAcceptImpliesCheck(t *testing.T) {
	replacements := []any{
		nil, "", "x", "30s", "Keep", "8080", int64(0), int64(-1), int64(70000), int64(1) << 40, 1.5, 1e19, true,
		[]any{}, []any{"a", "a"}, []any{nil}, map[string]any{}, map[string]any{"x": "y"}, map[string]any{"x": nil},
	}
	every := 3 // no divisor of the number of replacements, so that each is tried in many fields
	if testing.Short() {
		every = 20
	}
	count, accepted := 0, 0
	seen := map[string]bool{}
	for _, object := range objects(t) {
		kind := kindOf(t, object)
		name := object["kind"].(string)
		delete(object, "metadata")
		visit(object, "", func(path string, set func(any) func()) {
			if seen[name+path] {
				return // the same field of another object
			}
			seen[name+path] = true
			for _, value := range replacements {
				if count++; count%every != 0 {
					continue
				}
				restore := set(runtime.DeepCopyJSONValue(value))
				if sure(t, kind, object) {
					accepted++
				} else if count%40 == 0 {
					unaffected(t, kind, object) // takes long
				}
				restore()
			}
		})
	}
	t.Logf("%d of %d changed objects are accepted", accepted, count/every)
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

// visit calls f for every field and item below a value, with its path (indices left out)
// and a function that sets it and returns one that sets it back.
func visit(value any, path string, f func(path string, set func(any) func())) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			visit(item, path+"."+key, f)
			f(path+"."+key, func(v any) func() {
				value[key] = v
				return func() { value[key] = item }
			})
		}
		f(path+".+", func(v any) func() {
			value["added"] = v
			return func() { delete(value, "added") }
		})
	case []any:
		for i, item := range value {
			visit(item, path+"[]", f)
			f(path+"[]", func(v any) func() {
				value[i] = v
				return func() { value[i] = item }
			})
		}
	}
}

func TestCheckFindsWhatTheAPIServerWould(t *testing.T) {
	kind := Of("ServiceMonitor")
	value, _, err := yamlvalue.Decode(`
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
spec:
  endpoints:
  - prot: web
    interval: soon
    relabelings:
    - {targetLabel: a}
  nothing: ~
`)
	if err != nil {
		t.Fatal(err)
	}
	object := value.(map[string]any)
	unknown, errs := kind.Check(object)
	if diff := cmp.Diff([]string{"spec.endpoints[0].prot", "spec.nothing"}, unknown); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
	var fields []string
	for _, err := range errs {
		fields = append(fields, err.Field+" "+string(err.Type))
	}
	want := []string{"spec.endpoints[0].interval FieldValueInvalid", "spec.selector FieldValueRequired"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	want2 := map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"spec": map[string]any{"endpoints": []any{map[string]any{
			"interval": "soon", "relabelings": []any{map[string]any{"targetLabel": "a", "action": "replace"}},
		}}},
	}
	if diff := cmp.Diff(want2, object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

func TestSiblings(t *testing.T) {
	kind := Of("ServiceMonitor")
	for path, want := range map[string]string{
		"spex":                    "spec",
		"spec.endpoint":           "endpoints",
		"spec.endpoints[12].prot": "port",
		"spec.endpoints[0].relabelings[3].tolabel": "targetLabel",
		"spec.endpoints[0].params.x.y":             "",
		"spec.nothing.below":                       "",
	} {
		siblings := kind.Siblings(path)
		if want == "" && len(siblings) > 0 || want != "" && !strings.Contains(strings.Join(siblings, " "), want) {
			t.Errorf("Siblings(%s) = %v, want one to be %q", path, siblings, want)
		}
	}
}

// celRules are the CEL rules of each kind, by their messages. Package build checks what they say.
var celRules = map[string][]string{
	"GrafanaAgent.json": {"topology can only be defined when mode is set to 'Topology'"},
	"ScrapeConfig.json": {"at most one of basicAuth, authorization, or oauth2 can be configured"},
}

// TestCELRules holds the list of CEL rules that package schema does not evaluate. A new one has to be checked in
// package compile.
func TestCELRules(t *testing.T) {
	message := regexp.MustCompile(`"x-kubernetes-validations":\[\{"rule":"[^"]*","message":"([^"]*)"\}\]`)
	entries, err := schemas.ReadDir("schemas")
	if err != nil || len(entries) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	for _, entry := range entries {
		data, err := schemas.ReadFile("schemas/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		var rules []string
		for _, m := range message.FindAllSubmatch(data, -1) {
			rules = append(rules, string(m[1]))
		}
		if diff := cmp.Diff(celRules[entry.Name()], rules); diff != "" ||
			bytes.Count(data, []byte("x-kubernetes-validations")) != len(rules) {
			t.Errorf("%s has other CEL rules:\n%s", entry.Name(), diff)
		}
		if err := Of(strings.TrimSuffix(entry.Name(), ".json")).load(); err != nil {
			t.Errorf("%s: %v", entry.Name(), err)
		}
	}
}

// FuzzAccept looks for an object that is accepted and should not be.
func FuzzAccept(f *testing.F) {
	for _, path := range []string{"operator/sm-relabelings", "operator/sm-limits", "operator/pm-endpoint",
		"operator/probe-static", "operator/rw-settings",
		"operator/stages-labels", "prometheus-operator/sc-11-providers", "prometheus-operator/sc-21-full-clients",
		"prometheus-operator/sc-23-discovery-clients-2"} {
		data, err := os.ReadFile("../../../../test/conformance/" + path + "/input.yaml")
		if err != nil {
			f.Fatal(err)
		}
		for document := range stream.Documents(data) {
			f.Add(string(document.Text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, _, err := yamlvalue.Decode(text)
		if err != nil {
			return
		}
		object, _ := value.(map[string]any)
		name, _ := object["kind"].(string)
		if kind := Of(name); kind != nil {
			sure(t, kind, object)
		}
	})
}

// BenchmarkParse makes the form of a schema that only objects with errors need.
func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"GrafanaAgent", "ServiceMonitor"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := (&Kind{name: name}).load(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
