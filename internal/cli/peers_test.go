package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manifests are the manifests and kustomizations of a folder.
func manifests(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		out[name] = strings.TrimSpace(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRenderNeedsNoRepository: kargo-render#229. Rendering works into a folder outside of any repository, and to
// standard output.
func TestRenderNeedsNoRepository(t *testing.T) {
	t.Parallel()
	input, out := filepath.Join("..", "..", "examples", "quickstart"), t.TempDir()
	if text, err := exec.Command("agentry", "render", "-o", out, input).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	files := manifests(t, out)
	if len(files) < 3 || files["kustomization.yaml"] == "" {
		t.Errorf("rendered %d files", len(files))
	}
	if _, err := os.Stat(filepath.Join(out, ".git")); err == nil {
		t.Error("the folder is a repository now")
	}
	stream, err := exec.Command("agentry", "render", input).Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if filepath.Base(name) != "kustomization.yaml" && !strings.Contains(string(stream), text) {
			t.Errorf("%s is not on standard output as it is in the folder", name)
		}
	}
}

// TestRenderGivesWhatTheServicePushes: kargo#4904. A render on a laptop has the same bytes as the service pushes.
func TestRenderGivesWhatTheServicePushes(t *testing.T) {
	t.Parallel()
	w := serveTestbed(t)
	w.rendered("prod", "scrape_interval: 10s")
	input, local, pushed := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range w.repo.Files("main") {
		name = filepath.Join(input, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := exec.Command("agentry", "render", "-o", local,
		filepath.Join(input, "in")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	w.repo.Git("--work-tree", pushed, "checkout", "-f", "environments/prod", "--", ".")
	if diff := cmp.Diff(manifests(t, pushed), manifests(t, local)); diff != "" {
		t.Errorf("-pushed +rendered here:\n%s", diff)
	}
	w.stop()
}
