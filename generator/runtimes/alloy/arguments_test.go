package alloy

import (
	"reflect"
	"testing"

	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// TestLackingInAnOlderVersion: what came later is lacking, with the version that has it, and so is what no version has.
// What stands in a block that is lacking is not said again.
func TestLackingInAnOlderVersion(t *testing.T) {
	stats := syntax.Block{Name: "stat_statements"}
	stats.Set("include_query", syntax.Bool(true))
	b := syntax.Block{Name: "prometheus.exporter.postgres"}
	b.Set("bogus", syntax.Bool(true))
	b.Set("enabled_collectors", syntax.Strings([]string{"stat_statements"}))
	b.Add(stats)
	bogus := lack{path: "bogus"}
	for text, want := range map[string][]lack{
		"v1.11.3": {bogus, {"stat_statements", "v1.12.0"}},
		"v1.12.0": {bogus},
		"v1.18.1": {bogus},
	} {
		version, err := catalogue.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := lacking(catalogue.Get(b.Name), version, "", &b); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
