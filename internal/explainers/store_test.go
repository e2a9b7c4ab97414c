package explainers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// hierarchyOf returns what is rendered of a GrafanaAgent and n MetricsInstances.
func hierarchyOf(n int) *explain.Render {
	text := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: agent, namespace: m}\n" +
		"spec: {metrics: {instanceSelector: {}}}\n"
	for i := range n {
		text += fmt.Sprintf(
			"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
				"metadata: {name: i%d, namespace: m}\nspec: {remoteWrite: [{url: 'https://x.example.com/push'}]}\n", i)
	}
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	out := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	return &out
}

// TestARenderReplacesAnother: a pass is explained as soon as it has ended, and no older render is kept.
func TestARenderReplacesAnother(t *testing.T) {
	renders := map[string]*explain.Render{"a": hierarchyOf(2)}
	s := NewStore(func(name string) (*explain.Render, bool) {
		r, ok := renders[name]
		return r, ok
	})
	count := func() int {
		hits, refused := s.Search("a", "")
		if refused != nil {
			return -refused.Status
		}
		return hits.Total
	}
	if got := count(); got != 3 {
		t.Errorf("%d objects", got)
	}
	renders["a"] = hierarchyOf(5)
	if got := count(); got != 6 {
		t.Errorf("%d objects of the new pass", got)
	}
	renders["a"] = nil
	if got := count(); got != -http.StatusServiceUnavailable || len(s.kept) != 0 {
		t.Errorf("%d, and %d are kept", got, len(s.kept))
	}
	for i := range 5 {
		name := fmt.Sprint(i)
		renders[name] = hierarchyOf(1)
		if _, refused := s.Search(name, ""); refused != nil || len(s.kept) > maxKept {
			t.Errorf("%v, and %d are kept", refused, len(s.kept))
		}
	}
}
