package generator_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// example renders a folder of examples. Secrets in clear are left out where they are not
// needed, as its pipeline does.
func example(t *testing.T, name string, opts generator.Options) *generator.Output {
	t.Helper()
	root := filepath.Join("..", "examples", name)
	var results []manifest.Result
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "plaintext" && opts.Secrets != secretref.Plaintext {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !manifest.IsManifestPath(d.Name()) {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(root, file)
		results = append(results, manifest.Parse(manifest.File{Path: filepath.ToSlash(within), Data: data},
			manifest.Options{Compatibility: opts.Compatibility}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return renderAll(results, opts)
}

// TestPlatformExample holds examples/platform to what its README promises: the objects of
// each unit, and that under both policies there is nothing to report but one remark.
func TestPlatformExample(t *testing.T) {
	// No secrets: every unit has a configuration for each kind of pod.
	checkExample(t, secretref.Reference, map[string]string{
		"monitoring/infra":   "2 daemonset, 1 deployment, 4 secret, 2 service, 1 statefulset",
		"monitoring/tenants": "1 daemonset, 1 deployment, 3 secret, 2 service, 2 statefulset",
		"payments/payments":  "1 deployment, 2 secret, 2 service, 1 statefulset",
	})
	// And one Secret with what was copied.
	checkExample(t, secretref.Plaintext, map[string]string{
		"monitoring/infra":   "2 daemonset, 1 deployment, 5 secret, 2 service, 1 statefulset",
		"monitoring/tenants": "1 daemonset, 1 deployment, 4 secret, 2 service, 2 statefulset",
		"payments/payments":  "1 deployment, 3 secret, 2 service, 1 statefulset",
	})
}

func checkExample(t *testing.T, policy secretref.Policy, objects map[string]string) {
	t.Helper()
	out := example(t, "platform", generator.Options{Compatibility: manifest.Current, Secrets: policy})
	got := map[string]string{}
	for _, u := range out.Units {
		counts := map[string]int{}
		for _, f := range u.Files {
			if f.Path == generator.KustomizationFile {
				continue
			}
			kind := strings.Split(f.Path, ".")
			counts[kind[len(kind)-2]]++
			if policy == secretref.Reference && strings.Contains(string(f.Data), "not-a-secret") {
				t.Errorf("%s/%s holds a secret", u.Name, f.Path)
			}
		}
		var list []string
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			list = append(list, fmt.Sprint(counts[kind], " ", kind))
		}
		got[u.Name] = strings.Join(list, ", ")
	}
	if diff := cmp.Diff(objects, got); diff != "" {
		t.Errorf("%s: objects (-want +got):\n%s", policy, diff)
	}
	var found []string
	for _, d := range out.Diags {
		found = append(found, d.String())
	}
	remark := []string{"teams/payments/monitors.yaml:26:3: info[old-integration-name]: " +
		"spec.name: the agent calls redis_exporter redis: it is rendered under that name"}
	if diff := cmp.Diff(remark, found); diff != "" {
		t.Errorf("%s: diagnostics (-want +got):\n%s", policy, diff)
	}
}
