package kustomize_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// kustomizeItself builds as the program kustomize does, of files in memory.
func kustomizeItself(t *testing.T, files fstest.MapFS, folder string) (string, error) {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	for name, f := range files {
		if err := memory.WriteFile("/"+name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	defer openapi.Schema() // builds side by side only read it
	defer openapi.ResetOpenAPI()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	built, err := krusty.MakeKustomizer(options).Run(memory, "/"+folder)
	if err != nil {
		return "", err
	}
	text, err := built.AsYaml()
	// this program is not kustomize
	return strings.ReplaceAll(string(text), "managed-by: kustomize-(devel)", "managed-by: kustomize-v5.8.2"), err
}

// ours builds with this package.
func ours(files fstest.MapFS, folder string) (string, error) {
	open := func() (tree.Files, func(), error) { return files, func() {}, nil }
	docs, err := kustomize.Build(context.Background(), tree.New(context.Background(), files),
		kustomize.Request{Folder: folder}, kustomize.Options{Kustomize: testworker.Kustomize(), Open: open})
	var texts []string
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	return strings.Join(texts, "---\n"), err
}

func files(of map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range of {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestObjectsAreThoseOfKustomize compares with kustomize over random overlays; KUSTOMIZE_SEEDS asks for more of them.
// It runs alone, because kustomize has one set of schemas for the whole process.
func TestObjectsAreThoseOfKustomize(t *testing.T) { //nolint:paralleltest // see above
	built, seeds := 0, uint64(60)
	if testing.Short() {
		seeds = 20 // make race tries them all
	}
	if n, err := strconv.ParseUint(os.Getenv("KUSTOMIZE_SEEDS"), 10, 64); err == nil {
		seeds = n
	}
	for seed := range seeds {
		repository := randomRepository(rand.New(rand.NewPCG(seed, 1)))
		want, wantErr := kustomizeItself(t, repository, "top")
		got, err := ours(repository, "top")
		if (wantErr == nil) != (err == nil) {
			t.Errorf("seed %d: kustomize says %v, agentry %v", seed, wantErr, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: other objects (-kustomize +agentry):\n%s", seed, diff)
		}
		if err == nil {
			built++
		}
	}
	if built < int(seeds/3) {
		t.Errorf("only %d repositories of %d can be built", built, seeds)
	}
}

// TestBuildsSideBySide is for the race detector.
func TestBuildsSideBySide(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("is for the race detector: make race runs it")
	}
	var running sync.WaitGroup
	for seed := range uint64(8) {
		running.Go(func() {
			for n := range uint64(5) {
				repository := randomRepository(rand.New(rand.NewPCG(seed, n)))
				if n == 2 && seed < 2 {
					repository["top/kustomization.yaml"].Data = append(repository["top/kustomization.yaml"].Data,
						"openapi: {path: ../schema.json}\n"...)
					repository["schema.json"] = &fstest.MapFile{Data: []byte(`{"definitions": {}}`)}
				}
				first, _ := ours(repository, "top")
				if second, _ := ours(repository, "top"); first != second {
					t.Errorf("seed %d %d: two builds differ", seed, n)
				}
			}
		})
	}
	running.Wait()
}
