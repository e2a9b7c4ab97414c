package inputs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentry-dev/agentry/inputs"
)

// overlays is a repository with Kustomizations of Flux, each of an overlay over one of the bases of 20 monitors.
func overlays(count, bases int) fstest.MapFS {
	files := archive(sync)
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	for i := range bases {
		var monitors strings.Builder
		for n := range 20 {
			fmt.Fprintf(&monitors, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m-%d-%d}\nspec: {selector: {}, endpoints: [{port: web}]}\n", i, n)
		}
		add(fmt.Sprintf("bases/%d/kustomization.yaml", i), "resources: [monitors.yaml]\n")
		add(fmt.Sprintf("bases/%d/monitors.yaml", i), monitors.String())
	}
	for i := range count {
		name := fmt.Sprintf("o-%d", i)
		text := kustomization(name, fmt.Sprintf("path: ./overlays/%d\ntargetNamespace: %s", i, name))
		add(fmt.Sprintf("clusters/prod/%s.yaml", name), strings.SplitAfterN(text, "\n", 2)[1])
		add(fmt.Sprintf("overlays/%d/kustomization.yaml", i), fmt.Sprintf("resources: [../../bases/%d]\ncommonAnnotations: {n: \"%d\"}\n", i%bases, i))
	}
	return files
}

// BenchmarkFollow finds and builds 200 Kustomizations of Flux, with what the search built and without it.
func BenchmarkFollow(b *testing.B) {
	files := overlays(200, 10)
	for name, keeps := range map[string]bool{"built-once": true, "built-twice": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := fluxSearch(files, "clusters/prod")
				if keeps {
					s.Builds = &inputs.Builds{}
				}
				layout, err := s.Find(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range layout.All() {
					if _, err := inputs.Build(context.Background(), files, r, inputs.Options{Options: s.Options, Builds: s.Builds}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
