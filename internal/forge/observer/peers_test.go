package observer

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// TestEachPipelineHasAStatusOfItsOwn: notification-controller#194, #340, #1114. One commit is rendered for two
// clusters, with an error in one. The commit has a status for each.
func TestEachPipelineHasAStatusOfItsOwn(t *testing.T) {
	w := newTestbed(t, nil)
	other := w.def
	other.Metadata.Name = "prod-us"
	good := w.outcome(metav1.ConditionTrue, meta.SucceededReason, "", nil)
	bad := w.outcome(metav1.ConditionFalse, meta.BuildFailedReason, "errors in the inputs: 1", func(o *fleet.Outcome) {
		o.Definition, o.After.Name = &other, "prod-us"
	})
	states := map[string]string{}
	for _, call := range w.pass(t, good, bad) {
		if at, text, ok := strings.Cut(call, "statuses/"); ok && at == "POST " {
			fields := strings.Split(strings.TrimPrefix(text, commitA+" "), "|")
			states[fields[0]] = fields[1]
		}
	}
	if len(states) != 2 || states["agentry/prod-eu"] != "success" || states["agentry/prod-us"] != "failure" {
		t.Errorf("statuses %v", states)
	}
}
