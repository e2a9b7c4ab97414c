package gitsync_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// fleetConfig is a ConfigMap of the fleet, of a kilobyte.
func fleetConfig(i, round int) (name, content string) {
	name = fmt.Sprintf("in/team-%03d/config-%02d.yaml", i/filesPerUnit, i%filesPerUnit)
	return name, fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-%02d, namespace: team-%03d}\n"+
			"data: {round: \"%d\", text: %s}\n",
		i%filesPerUnit, i/filesPerUnit, round, strings.Repeat("x", 1000))
}

// BenchmarkPassThrough is a later pass over as many ConfigMaps as files of the fleet, which are passed through: after
// one monitor changed, and after one ConfigMap did. It is measured against a pass of the same repository that passes
// nothing through, after the same monitor changed.
func BenchmarkPassThrough(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		for _, what := range []string{"monitor", "ConfigMap"} {
			b.Run(fmt.Sprintf("files=%d/change=%s", n, what), func(b *testing.B) {
				r := newFleetLab(b, n)
				configs := map[string]string{}
				for i := range n {
					name, content := fleetConfig(i, 0)
					maps.Copy(configs, map[string]string{name: content})
				}
				r.input(configs)
				with := r.process("with", "ConfigMap")
				r.options.CacheDir = b.TempDir() // each fetches for itself
				without := r.process("without")
				defer with.Close()
				defer without.Close()
				r.renders(with)
				r.renders(without)
				var passing, plain []time.Duration
				for b.Loop() {
					r.change()
					start := time.Now()
					r.renders(without)
					plain = append(plain, time.Since(start))
					if what == "ConfigMap" {
						r.renders(with)
						name, content := fleetConfig(r.round*37%n, r.round)
						r.input(map[string]string{name: content})
					}
					start = time.Now()
					r.renders(with)
					passing = append(passing, time.Since(start))
				}
				reportRatio(b, passing, plain, "plain")
			})
		}
	}
}
