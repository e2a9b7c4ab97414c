package display

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/server"
)

// TestHeldObjects: a held object is shown with the version that is in effect, and its error with the field. One whose
// unit keeps its folder is held, although no commit says as of when.
func TestHeldObjects(t *testing.T) {
	reason := diag.InvalidField.At("spec.interval", "must be a duration")
	reason.File, reason.Line, reason.Column = "a.yaml", 7, 3
	for want, h := range map[string]plan.HeldObject{
		"held as of 01234567 ServiceMonitor/shop/a\n": {State: plan.UnitHeld,
			As: branch.CommitRef{Commit: "0123456789abcdef"}},
		"held ServiceMonitor/shop/a\n":     {State: plan.UnitHeld},
		"left out ServiceMonitor/shop/a\n": {State: plan.UnitLeftOut},
	} {
		h.ID, h.Reason = manifest.ID{Kind: "ServiceMonitor", Namespace: "shop", Name: "a"}, reason
		var s server.Pipeline
		s.Held = []plan.HeldObject{h}
		var out strings.Builder
		if err := Details(&out, s); err != nil {
			t.Fatal(err)
		}
		want += "       a.yaml:7:3: spec.interval: must be a duration\n"
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
}
