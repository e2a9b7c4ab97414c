package inputs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// overlays is a repository with Kustomizations of Flux, each of an overlay over one of the bases of 20 monitors.
func overlays(count, bases int) fstest.MapFS {
	files := archive(sync)
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	for i := range bases {
		var monitors strings.Builder
		for n := range 20 {
			fmt.Fprintf(&monitors, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
				"metadata: {name: m-%d-%d}\nspec: {selector: {}, endpoints: [{port: web}]}\n", i, n)
		}
		add(fmt.Sprintf("bases/%d/kustomization.yaml", i), "resources: [monitors.yaml]\n")
		add(fmt.Sprintf("bases/%d/monitors.yaml", i), monitors.String())
	}
	for i := range count {
		name := fmt.Sprintf("o-%d", i)
		text := kustomization(name, fmt.Sprintf("path: ./overlays/%d\ntargetNamespace: %s", i, name))
		add(fmt.Sprintf("clusters/prod/%s.yaml", name), strings.SplitAfterN(text, "\n", 2)[1])
		add(fmt.Sprintf("overlays/%d/kustomization.yaml", i),
			fmt.Sprintf("resources: [../../bases/%d]\ncommonAnnotations: {n: \"%d\"}\n", i%bases, i))
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
					if _, err := inputs.Build(context.Background(), files, r,
						inputs.Options{Options: s.Options, Builds: s.Builds}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkManyOverlays searches overlays over 50 bases again after an edit: of one overlay, and of all.
func BenchmarkManyOverlays(b *testing.B) {
	for _, count := range []int{1_000, 10_000} {
		files := overlays(count, 50)
		all := make([]tree.Change, count)
		for i := range all {
			all[i] = tree.Change{Path: fmt.Sprintf("overlays/%d/kustomization.yaml", i), Edited: true}
		}
		top := b.TempDir() // MapFS lists all files for a folder
		for name, f := range files {
			at := filepath.Join(top, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, f.Data, 0o600)); err != nil {
				b.Fatal(err)
			}
		}
		search := inputs.Search{Files: os.DirFS(top).(tree.Files), Paths: []string{"overlays"}, Mode: inputs.Auto}
		layout, err := search.Find(context.Background())
		if err != nil || len(layout.Roots) != count {
			b.Fatal(len(layout.Roots), err)
		}
		for name, changed := range map[string]*tree.Changes{"anew": nil, "one": tree.NewChanges(all[0]),
			"all": tree.NewChanges(all...)} {
			b.Run(fmt.Sprintf("%d/%s", count, name), func(b *testing.B) {
				for b.Loop() {
					again := search
					if again.Changed = changed; changed != nil {
						again.Before = layout
					}
					if _, err := again.Find(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
