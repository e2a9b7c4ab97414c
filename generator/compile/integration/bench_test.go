package integration

import (
	"encoding/json"
	"testing"
)

func BenchmarkCheck(b *testing.B) {
	in := with(b, Input{Name: "mysql", Strict: true},
		"{data_source_name: root@(db:3306)/, lock_wait_timeout: 2, set_collectors: [heartbeat], autoscrape: {enable: "+
			"true, metrics_instance: a/b}, extra_labels: {team: shop}}")
	Default()
	for b.Loop() {
		Default().Check(in)
	}
}

// BenchmarkDefault is what the first integration of a process costs.
func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		var file struct{ Integrations []Entry }
		var known []Entry
		if json.Unmarshal(reflected, &file) != nil || json.Unmarshal(facts, &known) != nil {
			b.Fatal("the embedded catalogue")
		}
		c, err := (&Catalogue{}).Extend(append(file.Integrations, known...))
		if err != nil || len(c.types) == 0 {
			b.Fatal(err)
		}
	}
}
