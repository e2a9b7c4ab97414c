package generator_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
)

// BenchmarkAlloy is a render for Alloy, from files to output and from the object set, against the same for the agent in
// the same run: ratios of processor time. The goal is at most 1.5.
func BenchmarkAlloy(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		agent, monitors := fleet(n)
		files := append([]manifest.File{agent}, monitors...)
		set := loadAll(files)
		render := func(set *manifest.Set, r runtimes.Runtime) {
			out := generator.Render(set, generator.Options{Compatibility: manifest.Current,
				Runtimes: runtimes.Choice{Default: r}}, nil)
			if len(out.Units) != 1 || out.Units[0].Failed {
				b.Fatal(out.Diags)
			}
		}
		b.ReportAllocs()
		_, busy := measure(b, func() { render(loadAll(files), alloy.Runtime()) })
		b.StopTimer()
		_, busyAgent := measure(b, func() { render(loadAll(files), agentruntime.Runtime()) })
		_, generate := measure(b, func() { render(set, alloy.Runtime()) })
		_, generateAgent := measure(b, func() { render(set, agentruntime.Runtime()) })
		b.ReportMetric(float64(busy)/float64(busyAgent), "files-to-output/agent")
		b.ReportMetric(float64(generate)/float64(generateAgent), "generate/agent")
	})
}
