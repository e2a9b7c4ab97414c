package console

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/test/outputs"
)

// TestTheHistoryOfAPipeline follows a commit from the page of the pipeline to what it changes.
func TestTheHistoryOfAPipeline(t *testing.T) {
	w := outputs.New(t)
	w.Pass()
	source := w.Remote.Commit("main", map[string]string{"in/agent.yaml": outputs.Input("second")})
	w.Pass()
	d := definition("prod")
	d.Spec.Sources[0].URL = w.Status.Sources[0].URL
	h := (&fake{pipelines: []fleet.Status{w.Status}, defs: []*fleet.Definition{d}, caches: w.Caches}).handler(t)
	last, first := w.Status.Output.Commit, w.Remote.Head("out~1")
	link := `href="/pipelines/prod/commits/` + last + `"`
	holds(t, get(h, "/pipelines/prod").Body.String(), link, "https://github.com/org/a/commit/"+last, short(source))
	holds(t, get(h, "/pipelines/prod/commits").Body.String(), link, `href="/pipelines/prod/commits/`+first+`"`)
	at := "/pipelines/prod/commits/" + last
	text := get(h, at).Body.String()
	holds(t, text, "2 objects changed", "pods reload their configuration", "instance m/main",
		"writer http://mimir/second", "<h3 class=\"object changed\">", ": commit ")
	if strings.Contains(text, outputs.Password) || strings.Contains(text, outputs.User) {
		t.Error("the page has a secret")
	}
	store := delivery.New(delivery.Options{Log: slog.New(slog.DiscardHandler)})
	store.Passed(t.Context(), fleet.Outcome{Definition: d, After: w.Status, Report: &gitsync.Report{Commit: last}})
	store.Record(delivery.Report{Cluster: "prod-eu", Reconciler: "Kustomization/flux-system/all", Commit: last,
		State: delivery.Healthy, Sent: time.Now()})
	delivered := &fake{pipelines: []fleet.Status{w.Status}, defs: []*fleet.Definition{d}, caches: w.Caches,
		delivery: store}
	holds(t, get(delivered.handler(t), at).Body.String(), "Kustomization/flux-system/all", ">healthy<")
	if got := get(h, "/pipelines/prod/commits/"+source); got.Code != 404 ||
		!strings.Contains(got.Body.String(), "not among the latest commits") {
		t.Errorf("a commit of another branch: %d", got.Code)
	}
	w.Status.Findings.First = diag.List{{Severity: "error", Message: "odd", File: "in/agent.yaml", Line: 2,
		Column: 7}}
	h = (&fake{pipelines: []fleet.Status{w.Status}, caches: w.Caches}).handler(t)
	holds(t, get(h, "/pipelines/prod").Body.String(), "<code>kind: <b>GrafanaAgent</b></code>")
	w.Status.Owned = false
	h = (&fake{pipelines: []fleet.Status{w.Status}, caches: w.Caches}).handler(t)
	if got := get(h, "/pipelines/prod/commits"); got.Code != 503 ||
		!strings.Contains(got.Body.String(), "ask the active replica") {
		t.Errorf("the history at another replica: %d", got.Code)
	}
}

func TestALineOfADifference(t *testing.T) {
	for _, line := range []difference.Line{{Depth: 2, Mark: "+", Text: "rule: {a: b}"}, {Text: "and 3 more lines"},
		{Depth: maxDepth, Mark: "-", Text: "far"}} {
		if got := changeOf(line); got.Line != line {
			t.Errorf("%q: %+v", line, got)
		}
	}
	if got := changeOf(difference.Line{Depth: maxDepth + 2}); got.Depth != maxDepth {
		t.Errorf("a line is indented %d times", got.Depth)
	}
}
