package console

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
)

// TestClusters: a pipeline's page has a row for each cluster, and none of the words of a reconciler is code.
func TestClusters(t *testing.T) {
	f := &fake{pipelines: []fleet.Status{troubled()}, defs: []*fleet.Definition{definition("prod")}}
	store := delivery.New(delivery.Options{Log: slog.New(slog.DiscardHandler)})
	f.delivery = store
	commit := strings.Repeat("c", 40)
	out := fleet.Outcome{Definition: f.defs[0], After: troubled(), Report: &gitsync.Report{Commit: commit}}
	out.After.Output.Commit = commit
	store.Passed(context.Background(), out)
	if page := get(f.handler(t), "/pipelines/prod").Body.String(); strings.Contains(page, "Clusters") {
		t.Error("there are clusters before one has reported")
	}
	for cluster, state := range map[string]delivery.State{"prod-eu": delivery.Healthy, hostile: delivery.Failed} {
		store.Record(delivery.Report{Cluster: cluster, Reconciler: "Kustomization/flux-system/" + cluster,
			Commit: commit, State: state, Message: hostile, Sent: time.Now()})
	}
	holds(t, get(f.handler(t), "/pipelines/prod").Body.String(), "applied in 1 of 2 clusters, failed in &lt;script",
		"Kustomization/flux-system/prod-eu", ">healthy<", ">failed<", "just now", "0s")
}
