package inputs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// TestTenThousandOverlays over one base are found, in little memory, and each can be built: a part of them is. One
// kustomization that lists all of them takes kustomize too long.
func TestTenThousandOverlays(t *testing.T) {
	if testing.Short() {
		t.Skip("writes and reads 10,000 folders, which takes seconds: make race runs it")
	}
	const count, part = 10_000, 100
	top := t.TempDir()
	write := func(name, text string) {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("base/kustomization.yaml", "resources: [web.yaml]\n")
	write("base/web.yaml", "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web}\n"+
		"spec: {selector: {}, endpoints: [{port: web}]}\n")
	var all strings.Builder
	for i := range count {
		write(fmt.Sprintf("overlays/o%d/kustomization.yaml", i),
			fmt.Sprintf("resources: [../../base]\nnamespace: team-%d\n", i))
		fmt.Fprintf(&all, "- ../overlays/o%d\n", i)
	}
	write("all/kustomization.yaml", "resources:\n"+all.String())

	files := os.DirFS(top).(tree.Files)
	find := func(path string) *inputs.Layout {
		t.Helper()
		layout, err := inputs.Search{Files: files, Paths: []string{path}, Mode: inputs.Auto}.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return layout
	}
	opts := inputs.Options{Options: roots.Options{Open: func() (tree.Files, func(), error) {
		return files, func() {}, nil
	}, Kustomize: testworker.Kustomize()}}
	found := find("overlays").Roots
	if len(found) != count {
		t.Fatalf("%d roots are found", len(found))
	}
	var heap runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&heap)
	const bound = 128 << 20
	if heap.HeapAlloc > bound {
		t.Errorf("%d MiB of memory are in use", heap.HeapAlloc>>20)
	}
	for i := 0; i < count; i += count / part {
		built, err := inputs.Build(t.Context(), files, found[i], opts)
		if err != nil || len(built.Result.Diags) > 0 || len(built.Result.Objects) != 1 {
			t.Fatalf("%s: %v %v", found[i].Name, err, built.Result.Diags)
		}
		_, number, _ := strings.Cut(found[i].Folder, "/o")
		if got := built.Result.Objects[0].ID.Namespace; got != "team-"+number {
			t.Errorf("%s: got %s", found[i].Name, got)
		}
	}
	one := find("all").Roots
	if len(one) != 1 {
		t.Fatalf("got %v", one)
	}
	hurried := kustomizer.NewWorkers(kustomizer.Options{Limits: kustomizer.Limits{CPU: 2 * time.Second}})
	defer hurried.Close()
	opts.Kustomize = hurried
	built, err := inputs.Build(t.Context(), files, one[0], opts)
	if err != nil || len(built.Result.Diags) != 1 ||
		!strings.Contains(built.Result.Diags[0].Message, "of processor time") {
		t.Errorf("got %v %v", err, built.Result.Diags)
	}
}
