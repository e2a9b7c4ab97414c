package argocdplugin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

func TestPlace(t *testing.T) {
	for _, of := range []struct{ folder, source, top, below string }{
		{"/tmp/1/apps/prod", "apps/prod", "/tmp/1", "apps/prod"},
		{"/tmp/1/apps/prod", "./apps/prod/", "/tmp/1", "apps/prod"},
		{"/tmp/1", ".", "/tmp/1", "."},
		{"/tmp/1", "", "/tmp/1", "."},
		{"/tmp/1/prod", "apps/prod", "/tmp/1", "prod"}, // only a part of the repository is copied
		{"/tmp/1", "apps/prod", "/tmp/1", "."},
		{"/tmp/1/etc", "../../etc", "/tmp/1", "etc"},
		{"/", "apps", "/", "."},
	} {
		if top, below := Place(of.folder, of.source); top != of.top || below != of.below {
			t.Errorf("%s of %s is %s in %s", of.folder, of.source, below, top)
		}
	}
}

// TestValuesAreTakenAsTheyAre: a parameter is a text, whatever --set makes of its characters.
func TestValuesAreTakenAsTheyAre(t *testing.T) {
	for _, value := range []string{"a", "a,b", "{a,b}", "a=b", `a\b`, "[0]", "a.b", `\,`, " a ", "{", ""} {
		parameters := []map[string]any{
			{"name": "spec.namespaceFrom", "string": value},
			{"name": "spec.runtimes.allowed", "array": []string{value, "x"}},
			{"name": "spec.operator.labels", "map": map[string]string{"example.com/" + value: value}},
		}
		text, err := json.Marshal(parameters)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		fields, err := pipelinefile.Set(map[string]any{}, got.Set)
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		want := map[string]any{"spec": map[string]any{"namespaceFrom": value,
			"runtimes": map[string]any{"allowed": []any{value, "x"}},
			"operator": map[string]any{"labels": map[string]any{"example.com/" + value: value}}}}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
	}
}
