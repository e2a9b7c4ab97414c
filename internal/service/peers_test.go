package service

import (
	"strings"
	"testing"
)

// TestErrorsAreShownAtThePipelineAndCounted: argo-cd#24755, #29512. The status of the pipeline and of the unit has each
// error with its place, and metrics count the errors of the whole fleet.
func TestErrorsAreShownAtThePipelineAndCounted(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	for _, name := range []string{"eu", "us"} {
		w.pipeline(name, r.url, "")
	}
	r.Commit("main", input("first"))
	w.start()
	w.ready(r.Repo, "first", "eu", "us")
	files := input("second")
	files["in/agent.yaml"] = strings.Replace(files["in/agent.yaml"], "metrics: {", "logLevel: shout\n  metrics: {", 1)
	r.Commit("main", files)
	w.trigger("eu", "us")
	s := w.says("eu", "BuildFailed", "in/agent.yaml:", "GrafanaAgent/shop/agent", "logLevel")
	w.says("us", "BuildFailed", "in/agent.yaml:")
	if len(s.Held) != 1 || s.Held[0].Reason.File != "in/agent.yaml" || s.Held[0].Reason.Line == 0 ||
		s.Findings.Errors != 1 {
		t.Errorf("held: %+v, findings: %+v", s.Held, s.Findings)
	}
	text := w.metrics()
	for _, series := range []string{
		`agentry_pipelines{state="not_ready"} 2`, `agentry_ready{pipeline="eu"} 0`,
		`agentry_findings{pipeline="us",severity="error"} 1`,
		`agentry_held_objects{kind="GrafanaAgent",pipeline="eu",unit="shop/agent"} 1`,
	} {
		if !strings.Contains(text, "\n"+series+"\n") {
			t.Errorf("there is no %s", series)
		}
	}
	w.end()
}
