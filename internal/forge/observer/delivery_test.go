package observer

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/internal/delivery"
)

// TestDelivered: the input commit of each source with a forge gets a second status. The newest replaces those that
// wait.
func TestDelivered(t *testing.T) {
	w := newTestbed(t, nil)
	deliver := func(s delivery.Status) []string {
		s.Commit = output
		for range 2 {
			w.observer.Delivered(delivery.Change{Definition: &w.def, Inputs: []string{commitA, commitB}, Status: s})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.observer.Run(ctx); err != nil {
			t.Error(err)
		}
		w.restart()
		return w.hub.take()
	}
	url := w.hub.URL + "/org/monitoring/commit/" + output
	failed := delivery.Row{Cluster: "eu", State: delivery.Failed}
	for want, s := range map[string]delivery.Status{
		"pending|applied in 1 of 2 clusters": {Clusters: 2, Applied: 1},
		"success|applied in 2 of 2 clusters": {Clusters: 2, Applied: 2},
		"failure|applied in 1 of 2 clusters, failed in eu": {Clusters: 2, Applied: 1, Failed: 1,
			Rows: []delivery.Row{failed}},
	} {
		want = "POST statuses/" + commitA + " agentry/prod-eu/applied|" + want + "|" + url + "|"
		if diff := cmp.Diff([]string{want}, deliver(s)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	w.observer.options.MayPublish = func() bool { return false }
	if calls := deliver(delivery.Status{Clusters: 1}); len(calls) > 0 {
		t.Errorf("a passive replica calls: %v", calls)
	}
}
