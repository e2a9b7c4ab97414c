package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestExplainShowsTheRuleOfATenant of an object that a pass refuses.
func TestExplainShowsTheRuleOfATenant(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
	l.input(map[string]string{"in/agent.yaml": agent("b"), "in/teams/a/x.yaml": monitor("b", "evil", "http")})
	e, ok := explain.New(*l.pass().Explained).Explain(manifest.ID{Kind: "ServiceMonitor", Namespace: "b",
		Name: "evil"})
	if !ok || e.State != explain.LeftOut || !strings.Contains(e.Text(), "(spec.tenancy.folders)") {
		t.Errorf("explain does not show the rule: %v", e)
	}
}
