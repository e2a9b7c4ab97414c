package generator_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
)

// BenchmarkDifference compares two renders for Alloy that differ in three monitors, against the same for the agent in
// the same run: the ratio of processor time.
func BenchmarkDifference(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		pairs, ofAgent := editedPairs(n, alloy.Runtime()), editedPairs(n, agentruntime.Runtime())
		compare := func(pairs []difference.Pair) {
			if d := difference.Compare(pairs); len(d.Objects) != 1 || len(d.Objects[0].Changes) != 3 {
				b.Fatal(d.Text())
			}
		}
		b.ReportAllocs()
		b.ResetTimer()
		_, busy := measure(b, func() { compare(pairs) })
		b.StopTimer()
		_, busyAgent := measure(b, func() { compare(ofAgent) })
		b.ReportMetric(float64(busy.Microseconds())/1000, "cpu-ms/op")
		b.ReportMetric(float64(busy)/float64(busyAgent), "compare/agent")
	})
}

// TestAllocationsOfADifference: of large configurations, only the jobs that change are read.
func TestAllocationsOfADifference(t *testing.T) {
	const monitors = 200
	for _, c := range []struct {
		program runtimes.Runtime
		before  string // what is known of it
		most    float64
	}{
		{agentruntime.Runtime(), "values", 200},
		{agentruntime.Runtime(), "texts", 200},
		{alloy.Runtime(), "values", 700},
	} {
		pairs := editedPairs(monitors, c.program)
		for i := range pairs {
			if c.before == "texts" {
				pairs[i].Before = difference.Version{Text: pairs[i].Before.Text}
			}
		}
		if n := testing.AllocsPerRun(2, func() { difference.Compare(pairs) }) / monitors; n > c.most {
			t.Errorf("%s, from %s: %.1f allocations for each monitor of two endpoints, want at most %g",
				c.program.Name, c.before, n, c.most)
		}
	}
}

// editedPairs are the objects of a fleet, before and after an edit of three monitors.
func editedPairs(n int, program runtimes.Runtime) []difference.Pair {
	agent, monitors := fleet(n)
	render := func(files []manifest.File) []difference.Manifest {
		set := loadAll(append([]manifest.File{agent}, files...))
		return manifests(generator.Render(set, generator.Options{Compatibility: manifest.Current,
			Runtimes: runtimes.Choice{Default: program}},
			nil))
	}
	edited := slices.Clone(monitors)
	for _, i := range []int{n / 4, n / 2, n - 1} {
		edited[i].Data = bytes.Replace(edited[i].Data, []byte("path: /admin/metrics"), []byte("path: /other"), 1)
	}
	return difference.Match(render(monitors), render(edited))
}
