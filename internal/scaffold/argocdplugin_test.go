package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheExampleIsWhatInitWrites: examples/argocd-plugin is what agentry init --argocd-plugin writes, with the
// image of the chart.
func TestTheExampleIsWhatInitWrites(t *testing.T) {
	files, err := ArgoCDPlugin(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	chart, err := os.ReadFile(filepath.Join("..", "..", "charts", "agentry", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ AppVersion string }
	if err := yaml.Unmarshal(chart, &meta); err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, f := range files {
		parses(t, f)
		all += string(f.Data)
		example, err := os.ReadFile(filepath.FromSlash(f.Path))
		if err != nil || string(example) != string(f.Data) {
			t.Errorf("%s is not internal/scaffold/argocd-plugin/%s: %v", f.Path, filepath.Base(f.Path), err)
		}
	}
	if image := "image: ghcr.io/agentry-dev/agentry:" + meta.AppVersion + " "; !strings.Contains(all, image) {
		t.Errorf("the sidecar does not have %s", image)
	}
}
