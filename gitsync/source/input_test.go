package source

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/internal/panics"
)

// TestCachedFilesEqualParsedFiles adds, changes and removes files at random: the sums and lists that are kept with
// them, and the set of their objects, must match the existing files.
func TestCachedFilesEqualParsedFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		sources := Sources{List: []*Source{{}, {}}}
		for _, src := range sources.List {
			src.Input = newInput()
		}
		for step := range 40 {
			in := &sources.List[random.IntN(2)].Input
			for range 1 + random.IntN(3) {
				name := fmt.Sprintf("%s/%d.yaml", []string{"a", "a/b", "c"}[random.IntN(3)], random.IntN(2))
				if random.IntN(3) == 0 {
					in.drop(name)
				} else {
					in.put(randomInput(random, name))
				}
			}
			if random.IntN(3) == 0 {
				continue // like a pass that fails before it has a set
			}
			var fresh Sources
			for _, src := range sources.List {
				again := &Source{Input: newInput()}
				for _, name := range slices.Sorted(maps.Keys(src.Input.Files)) {
					again.Input.put(src.Input.Files[name])
				}
				fresh.List = append(fresh.List, again)
			}
			sources.objects = sources.merge()
			if diff := cmp.Diff(kept(fresh.List, fresh.merge()), kept(sources.List, sources.objects)); diff != "" {
				t.Fatalf("seed %d, step %d (-files +kept):\n%s", seed, step, diff)
			}
		}
	}
}

func randomInput(random *rand.Rand, name string) *File {
	text := ""
	for range random.IntN(4) {
		id := fmt.Sprintf("metadata: {name: n%d, namespace: ns}", random.IntN(60))
		text += "---\n" + []string{
			"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" + id +
				"\nspec: {selector: {}, endpoints: []}\n",
			"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" + id +
				"\nspec: {selector: {}, endpoints: [], unknown: 1}\n",
			"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" + id + "\nspec: {selector: 3}\n",
			"apiVersion: apps/v1\nkind: Deployment\n" + id + "\n",
			"apiVersion: v1\nkind: Pod\n" + id + "\n",
			"not: [closed\n",
		}[max(0, random.IntN(40)-34)]
	}
	return &File{Path: name, Result: manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, manifest.Options{})}
}

// kept describes the content of the inputs.
func kept(sources []*Source, set *manifest.Set) map[string][]string {
	out := map[string][]string{}
	add := func(key, format string, args ...any) { out[key] = append(out[key], fmt.Sprintf(format, args...)) }
	for i, src := range sources {
		in := &src.Input
		for _, f := range in.FaultyFiles() {
			add(fmt.Sprint("odd ", i), "%s %v %v %d", f.Path, f.Result.Diags, f.Result.Invalid, f.Result.Broken)
		}
		for _, kind := range slices.Sorted(maps.Keys(in.Ignored)) {
			add(fmt.Sprint("ignored ", i), "%s %d", kind, in.Ignored[kind])
		}
		for _, name := range []string{"a", "a/b", "c", "a/0.yaml", "a/b/1.yaml"} {
			add(fmt.Sprint("below ", i), "%s %t", name, in.Below(name))
		}
	}
	for _, o := range set.All() {
		add("objects", "%s %p", o.ID, o)
	}
	for _, o := range set.LeftOut() {
		add("left out", "%s %p", o.ID, o)
	}
	for _, group := range set.Duplicates() {
		add("duplicates", "%v", group)
	}
	return out
}

// TestAPanicOfAParserIsTheCallers: files are read in goroutines, where a panic would end the process.
func TestAPanicOfAParserIsTheCallers(t *testing.T) {
	t.Parallel()
	defer func() {
		if err, ok := recover().(*panics.Error); !ok || !strings.Contains(err.Value, "nil pointer") {
			t.Errorf("recovered %v", err)
		}
	}()
	var files []*File
	for i := range 100 {
		files = append(files, &File{Blob: plumbing.Hash{1, byte(i)}})
	}
	pass := budget.New(0).Pass(t.Context())
	_ = (&Source{}).parse(pass, files, manifest.Options{}) // there is no repository
}
