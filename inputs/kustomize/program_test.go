package kustomize_test

import (
	stdcmp "cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/references"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/oracle"
	"github.com/agentry-dev/agentry/test/testworker"
)

// repositoryTop is the folder of this repository, from this package's.
const repositoryTop = "../.."

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return helmworker.Serve(in, out, helm.Limits{}) })
}

// programs are kustomize and helm as people run them.
type programs struct{ kustomize, helm string }

// newPrograms builds them.
func newPrograms(t *testing.T) programs {
	t.Helper()
	// kustomize calls helm without the API versions that agentry shows to charts.
	helm := filepath.Join(t.TempDir(), "helm-with-versions")
	script := fmt.Sprintf(
		"#!/bin/sh\ncase $1 in template) exec %q \"$@\" --no-hooks --kube-version 1.35 --api-versions "+
			"monitoring.coreos.com/v1 --api-versions monitoring.coreos.com/v1/ServiceMonitor ;; esac\n"+
			"exec %[1]q \"$@\"\n", oracle.Helm(t))
	if err := os.WriteFile(helm, []byte(script), 0o700); err != nil { //nolint:gosec // kustomize runs it
		t.Fatal(err)
	}
	return programs{kustomize: oracle.Kustomize(t), helm: helm}
}

// build builds a folder of the file system, with more variables of the environment.
func (p programs) build(folder string, env ...string) (map[string]any, error) {
	command := exec.Command(p.kustomize, "build", "--load-restrictor", "LoadRestrictionsNone", "--enable-helm",
		"--helm-command", p.helm, folder)
	command.Env = append(os.Environ(), "HELM_NO_PLUGINS=1", "TZ=UTC", "GIT_ALLOW_PROTOCOL=none") // it fetches nothing
	command.Env = append(command.Env, env...)
	var messages strings.Builder
	command.Stderr = &messages
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, messages.String())
	}
	return byName(string(out))
}

// byName are the objects of YAML documents.
func byName(text string) (map[string]any, error) {
	out := map[string]any{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		if len(o) == 0 {
			continue
		}
		metadata, _ := o["metadata"].(map[string]any)
		name := fmt.Sprint(o["apiVersion"], " ", o["kind"], " ", metadata["namespace"], "/", metadata["name"])
		if out[name] != nil {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		out[name] = o
	}
	return out, nil
}

// onDisk writes files into a new folder.
func onDisk(t *testing.T, of fstest.MapFS) string {
	t.Helper()
	dir := t.TempDir()
	for name, f := range of {
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		if err == nil && f.Mode&fs.ModeSymlink != 0 {
			err = os.Symlink(string(f.Data), at)
		} else if err == nil {
			err = os.WriteFile(at, f.Data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// oursOnDisk builds a folder below a folder of the file system, as the commands do.
func oursOnDisk(t *testing.T, dir, folder string, renderer *chart.Renderer) (map[string]any, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	of, _ := root.FS().(tree.Files)
	docs, err := kustomize.Build(t.Context(), tree.New(t.Context(), of), kustomize.Request{Folder: folder},
		kustomize.Options{Kustomize: testworker.Kustomize(), Charts: renderer})
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	return byName(strings.Join(texts, "---\n"))
}

// TestObjectsAreThoseOfTheProgram compares with the program kustomize, which calls the program helm.
func TestObjectsAreThoseOfTheProgram(t *testing.T) {
	p := newPrograms(t)
	t.Run("random repositories", p.random)
	t.Run("fixtures", p.fixtures)
	t.Run("spellings of remote bases", p.spellings)
	t.Run("random repositories with remote bases", p.randomRemotes)
}

// random compares random repositories with symbolic links.
func (p programs) random(t *testing.T) {
	const seeds = 60
	var mu sync.Mutex
	built := 0
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, 2))
				of := randomRepository(r)
				link(r, of)
				dir := onDisk(t, of)
				want, wantErr := p.build(filepath.Join(dir, "top"))
				got, err := oursOnDisk(t, dir, "top", nil)
				isSame(t, want, got, wantErr, err)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					built++
				}
			})
		}
	})
	if built < seeds/3 {
		t.Errorf("only %d repositories of %d can be built", built, seeds)
	}
}

// isSame fails unless the program and agentry build the same objects, or both fail.
func isSame(t *testing.T, want, got map[string]any, wantErr, err error) {
	t.Helper()
	if (wantErr == nil) != (err == nil) {
		t.Errorf("kustomize says %v, agentry %v", wantErr, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-kustomize +agentry):\n%s", diff)
	}
}

// link puts a file or a folder elsewhere, with a symbolic link in its place.
func link(r *rand.Rand, of fstest.MapFS) {
	if r.IntN(2) == 0 {
		of["elsewhere/m.yaml"] = of["bases/b0/m0.yaml"]
		of["bases/b0/m0.yaml"] = &fstest.MapFile{Data: []byte("../../elsewhere/m.yaml"), Mode: fs.ModeSymlink}
	}
	if r.IntN(4) == 0 {
		of["top/kustomization.yaml"].Data = []byte(strings.Replace(string(of["top/kustomization.yaml"].Data),
			"../middle", "through", 1))
		of["top/through"] = &fstest.MapFile{Data: []byte("../middle"), Mode: fs.ModeSymlink}
	}
}

// fixtures compares every kustomization of the repositories that other tests have. What agentry refuses by design is
// not compared.
func (p programs) fixtures(t *testing.T) {
	workers := helm.NewWorkers(helm.Options{Command: testworker.Command(), Env: testworker.Env()})
	t.Cleanup(workers.Close)
	built := 0
	for name, of := range repositories(t) {
		dir := onDisk(t, of)
		for file := range of {
			folder := path.Dir(file)
			if !isKustomization(file) {
				continue
			}
			got, err := oursOnDisk(t, dir, folder, &chart.Renderer{Workers: workers})
			failed, _ := errors.AsType[*diag.Diagnostic](err)
			isRefused := failed != nil && (failed.Code == diag.BuildRefused ||
				strings.Contains(failed.Message, "depends on randomness"))
			if isRefused || strings.Contains(string(of[file].Data), "://") { // here are no servers to fetch from
				continue
			}
			follow(t, dir, file)
			want, wantErr := p.build(filepath.Join(dir, folder))
			if err := os.WriteFile(filepath.Join(dir, file), of[file].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			if (wantErr == nil) != (err == nil) {
				t.Errorf("%s: %s: kustomize says %v, agentry %v", name, folder, wantErr, err)
			}
			if diff := cmp.Diff(lasting(want, got), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s (-kustomize +agentry):\n%s", name, folder, diff)
			}
			if err == nil && len(got) > 0 {
				built++
			}
		}
	}
	if built < 15 {
		t.Errorf("only %d kustomizations are built", built)
	}
}

// follow lets a kustomization ask for what agentry does unasked: to follow the references in custom resources. One that
// cannot be read stays as it is.
func follow(t *testing.T, dir, file string) {
	t.Helper()
	const config = "agentry-references.yaml"
	at := filepath.Join(dir, file)
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	var k map[string]any
	if yaml.Unmarshal(text, &k) != nil || len(k) == 0 {
		return
	}
	configurations, _ := k["configurations"].([]any)
	k["configurations"] = append(configurations, config)
	if text, err = yaml.Marshal(k); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{at: text, filepath.Join(filepath.Dir(at), config): references.YAML()} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lasting leaves out Secrets of charts, which can be others each time: agentry leaves them out.
func lasting(want, got map[string]any) map[string]any {
	for name := range want {
		if strings.HasPrefix(name, "v1 Secret ") && got[name] == nil && strings.HasSuffix(name, "/password") {
			delete(want, name)
		}
	}
	return want
}

func isKustomization(file string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(file))
}

// repositories are those that other tests have, in archives.
func repositories(t *testing.T) map[string]fstest.MapFS {
	t.Helper()
	out := map[string]fstest.MapFS{}
	err := filepath.WalkDir(repositoryTop, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist"}, d.Name()):
			return stdcmp.Or(err, filepath.SkipDir)
		case d.IsDir() || filepath.Ext(name) != ".txtar":
			return nil
		}
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return err
		}
		of := fstest.MapFS{}
		for _, f := range archive.Files {
			// of another step
			isFolder := slices.ContainsFunc(archive.Files, func(other txtar.File) bool {
				return strings.HasPrefix(other.Name, f.Name+"/")
			})
			if fs.ValidPath(f.Name) && !isFolder {
				of[f.Name] = &fstest.MapFile{Data: f.Data}
			}
		}
		if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return isKustomization(f.Name) }) {
			out[name] = of
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
