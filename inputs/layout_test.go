package inputs_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs"
)

// repository has kustomizations, by folder, and other files.
func repository(kustomizations map[string]string, files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for dir, text := range kustomizations {
		out[strings.TrimPrefix(dir+"/kustomization.yaml", "./")] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, name := range files {
		out[name] = &fstest.MapFile{Data: []byte("kind: X")}
	}
	return out
}

func TestRootsAreWhatFluxWouldApply(t *testing.T) {
	t.Parallel()
	const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	for name, c := range map[string]struct {
		files        fstest.MapFS
		paths        []string
		mode         inputs.Mode
		roots, plain []string
	}{
		"a path with a kustomization": {
			repository(map[string]string{"prod": "resources: [x.yaml, ../base]", "prod/sub": "",
				"base": "resources: [y.yaml]"}, "prod/x.yaml", "prod/unlisted.yaml", "base/y.yaml"),
			[]string{"prod"}, inputs.Auto, []string{"prod"}, nil,
		},
		"a path without one": {
			repository(map[string]string{"apps/a": "resources: [../../base]", "apps/b": "resources: [x.yaml]"},
				"apps/b/x.yaml", "apps/plain.yaml", "apps/c/plain.yaml", "base/y.yaml"),
			[]string{"apps"}, inputs.Auto, []string{"apps/a", "apps/b"},
			[]string{"apps/c/plain.yaml", "apps/plain.yaml"},
		},
		"bases and components are no roots": {
			repository(map[string]string{"base": "resources: [x.yaml]",
				"prod": "resources: [../base]\ncomponents: [../tls]", "tls": component, "other": component},
				"base/x.yaml"),
			[]string{"."}, inputs.Auto, []string{"prod"}, nil,
		},
		"unless they are named": {
			repository(map[string]string{"base": "resources: [x.yaml]", "prod": "resources: [../base]"}, "base/x.yaml"),
			[]string{"prod", "base"}, inputs.Auto, []string{"base", "prod"}, nil,
		},
		"a file that a kustomization elsewhere names": {
			repository(map[string]string{"prod": "resources: [../common/x.yaml]\npatches: [{path: ../patches/p.yaml}]"},
				"common/x.yaml", "common/y.yaml", "patches/p.yaml"),
			[]string{"."}, inputs.Auto, []string{"prod"}, []string{"common/y.yaml"},
		},
		"a circle is a root, so that it is reported": {
			repository(map[string]string{"a": "resources: [../b]", "b": "resources: [../a]"}),
			[]string{"."}, inputs.Auto, []string{"a"}, nil,
		},
		"a broken one is a root, and its files are not read": {
			repository(map[string]string{"a": "resources: {"}, "a/x.yaml", "b.yaml"),
			[]string{"."}, inputs.Auto, []string{"a"}, []string{"b.yaml"},
		},
		"each path must have one": {
			repository(map[string]string{"a": ""}, "b/x.yaml"),
			[]string{"a", "b"}, inputs.Kustomize, []string{"a", "b"}, nil,
		},
		"nothing is built": {
			repository(map[string]string{"a": "resources: [x.yaml]"}, "a/x.yaml"),
			[]string{"."}, inputs.Plain, nil, []string{"a/kustomization.yaml", "a/x.yaml"},
		},
		"a Helm chart": {
			repository(map[string]string{"charts/app/files": "resources: [x.yaml]"}, "charts/app/Chart.yaml",
				"charts/app/values.yaml", "charts/app/templates/x.yaml", "charts/y.yaml"),
			[]string{"."}, inputs.Auto, nil, []string{"charts/y.yaml"},
		},
		"a Helm chart if nothing is built": {
			repository(map[string]string{"a": "resources: [x.yaml]"}, "a/chart/Chart.yaml", "a/chart/templates/x.yaml",
				"a/Chart.yaml/x.yaml"),
			[]string{"a"}, inputs.Plain, nil, []string{"a/Chart.yaml/x.yaml", "a/kustomization.yaml"},
		},
		"a Helm chart beside a kustomization": {
			repository(map[string]string{"a": "resources: [x.yaml]"}, "a/Chart.yaml"),
			[]string{"a"}, inputs.Auto, []string{"a"}, nil,
		},
		"a hidden folder": {
			repository(map[string]string{".github": "resources: [x.yaml]", "a": "resources: [x.yaml]"}, "a/x.yaml"),
			[]string{"."}, inputs.Auto, []string{"a"}, []string{".github/kustomization.yaml"},
		},
	} {
		layout, err := inputs.Search{Files: c.files, Paths: c.paths, Mode: c.mode}.Find(context.Background())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, folder := range layout.ChartFolders {
			if !layout.Covers(folder + "/values.yaml") {
				t.Errorf("%s: files of the chart %s are read", name, folder)
			}
		}
		var roots, plain []string
		for _, r := range layout.All() {
			roots = append(roots, r.Folder)
		}
		for file := range c.files {
			for _, p := range c.paths {
				if below := p == "." || strings.HasPrefix(file, p+"/"); below && !layout.Covers(file) {
					plain = append(plain, file)
				}
			}
		}
		slices.Sort(plain)
		if diff := cmp.Diff([][]string{c.roots, c.plain}, [][]string{roots, plain}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
