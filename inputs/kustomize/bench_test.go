package kustomize_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// BenchmarkOverlays builds 300 overlays over one base of 20 monitors: as agentry does, with positions and references,
// and with kustomize's library alone, in this process. The goal is a ratio of 1.1.
func BenchmarkOverlays(b *testing.B) {
	const count = 300
	repository := fstest.MapFS{}
	add := func(name, text string) { repository[name] = &fstest.MapFile{Data: []byte(text)} }
	add("base/kustomization.yaml", "resources: [monitors.yaml]\n")
	add("base/monitors.yaml", times(20, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
		"metadata: {name: m%d}\nspec: {selector: {}, endpoints: [{port: web}]}\n"))
	for i := range count {
		add(fmt.Sprintf("o%d/kustomization.yaml", i),
			fmt.Sprintf("resources: [../base]\nnamespace: team-%d\nnamePrefix: p-\n", i))
	}
	memory := filesys.MakeFsInMemory()
	for name, f := range repository {
		if err := memory.WriteFile("/"+name, f.Data); err != nil {
			b.Fatal(err)
		}
	}
	for name, build := range map[string]func(folder string) (string, error){
		"agentry": func(folder string) (string, error) { return ours(repository, folder) },
		"kustomize": func(folder string) (string, error) {
			built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/"+folder)
			if err != nil {
				return "", err
			}
			text, err := built.AsYaml()
			return string(text), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for i := range count {
					if _, err := build(fmt.Sprintf("o%d", i)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
