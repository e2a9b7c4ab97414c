package argocd

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// TestAPluginCanBeAKustomization: what is declared is built in place of a plugin, and of no other one.
func TestAPluginCanBeAKustomization(t *testing.T) {
	repository := files(sources)
	for plugins, want := range map[string]string{"ksops": "", "other": "agentry does not run the plugin \"ksops\""} {
		app := &Application{Metadata: Metadata{Name: "shop"}, Spec: ApplicationSpec{Sources: []Source{{
			RepoURL: "https://git.example.com/fleet.git", Path: "overlay", Plugin: &PluginSource{Name: "ksops"},
			Field: "spec.source"}}}}
		m := applicationMaker{*app, own(), map[string]Plugin{plugins: KustomizeSOPS}}
		docs, err := m.Make(t.Context(), tree.New(t.Context(), repository), roots.Root{},
			roots.Options{Kustomize: testworker.Kustomize(),
				Open: func() (tree.Files, func(), error) { return repository, func() {}, nil }})
		if want == "" && (err != nil || len(docs) == 0) || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %d documents", plugins, err, len(docs))
		}
	}
}
