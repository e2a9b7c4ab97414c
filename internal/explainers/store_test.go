package explainers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// rendered is a fleet by its last renders.
type rendered map[string]*explain.Render

func (r rendered) Explained(_ context.Context, name string) (*explain.Render, bool) {
	render, ok := r[name]
	return render, ok
}

func (r rendered) Index(name string) (*explain.Index, bool) {
	render, ok := r[name]
	if render == nil {
		return nil, ok
	}
	return explain.New(*render).Index(), ok
}

// TestSearchAll: what is found of all pipelines, and where nobody can look.
func TestSearchAll(t *testing.T) {
	s := NewStore(rendered{"a": hierarchyOf(2), "b": hierarchyOf(3), "evicted": nil})
	all := []string{"a", "evicted", "b"}
	found, missed, refused := s.SearchAll(t.Context(), all, "metricsinstance", 2)
	if refused != nil || !slices.Equal(missed, []string{"evicted"}) {
		t.Errorf("%v %v", missed, refused)
	}
	if got := found.Result(explain.Objects); got.Total != 5 || len(got.Entries) != 2 || got.Entries[1].Pipeline != "a" {
		t.Errorf("%+v", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, missed, _ = s.SearchAll(over, all, "agent", 2); !slices.Equal(missed, all) {
		t.Errorf("without time: %v", missed)
	}
	for n, want := range map[int]bool{MaxQueryBytes: false, MaxQueryBytes + 1: true} {
		if _, _, refused := s.SearchAll(t.Context(), all, strings.Repeat("x", n), 2); (refused != nil) != want {
			t.Errorf("%d bytes: %v", n, refused)
		}
	}
}

// TestARenderReplacesAnother: a pass is explained as soon as it has ended, and no older render is kept.
func TestARenderReplacesAnother(t *testing.T) {
	renders := rendered{"a": hierarchyOf(2)}
	s := NewStore(renders)
	count := func() int {
		roots, refused := s.Tree(t.Context(), "a")
		if refused != nil {
			return -refused.Status
		}
		return 1 + len(roots[0].Children)
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
		if _, refused := s.Tree(t.Context(), name); refused != nil || len(s.kept) > maxKept {
			t.Errorf("%v, and %d are kept", refused, len(s.kept))
		}
	}
}
