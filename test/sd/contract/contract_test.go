// Package contract tests that the generator and the sd-aggregator, which do not import each other, agree on their
// common constants.
package contract

import (
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
)

func TestLabelsOfTheService(t *testing.T) {
	for ours, theirs := range map[string]string{
		discover.Label: workload.SDLabel, discover.LabelValue: workload.SDValue,
		discover.AgentLabel:      workload.SDAgentLabel,
		discover.DaemonSetPrefix: workload.SDDaemonSetPrefix, discover.DeploymentPrefix: workload.SDDeploymentPrefix,
	} {
		if ours != theirs {
			t.Errorf("the sd-aggregator has %q, the generator %q", ours, theirs)
		}
	}
}

// TestTheJob renders the job of an IntegrationMonitor and compares it with the served document.
func TestTheJob(t *testing.T) {
	rendered, findings := scrape.SDAggregator{}.HTTPSD(nil)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	builder := scrape.NewBuilder(scrape.Settings{Shards: 1,
		Agent: diag.Object{Kind: "GrafanaAgent", Namespace: "ns", Name: "ga"}, SD: rendered})
	job, findings := builder.IntegrationMonitor(&v1alpha1.IntegrationMonitor{}, "ns/primary", nil)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if want := scrape.DefaultSDURL + sd.Path + "?" + sd.Parameter + "=ns/ga"; job.HTTP.URL != want {
		t.Errorf("the generator asks for %s, the sd-aggregator has %s", job.HTTP.URL, want)
	}
	owner := []string{merge.OwnerNamespaceLabel, merge.OwnerNameLabel}
	if !slices.ContainsFunc(job.Relabel, func(r *model.Relabel) bool {
		return r.Action == "keep" && slices.Equal(r.SourceLabels, owner)
	}) {
		t.Errorf("no rule of the job goes by %v", owner)
	}
}
