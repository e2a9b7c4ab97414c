package diag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestProblemsOfOneCauseAreOneBlock after all others, unless they are few.
func TestProblemsOfOneCauseAreOneBlock(t *testing.T) {
	t.Parallel()
	of := func(n int) (list diag.List) {
		for i := range n {
			d := diag.BuildFailed.At("spec.chart", "chart%d: no such host", i)
			d.File, d.Line = fmt.Sprintf("%d.yaml", i), 1
			d.Cause = diag.Cause{Things: "charts", Problem: "cannot be fetched",
				Server: []string{"a.example.com", "b.example.com"}[i%2], Reason: "no such host"}
			d.Object = diag.Object{Kind: "HelmRelease", Name: fmt.Sprint(i)}
			list = append(list, d)
		}
		real := diag.BuildFailed.At("spec.path", "the real one")
		real.File = "z.yaml"
		return append(list, real)
	}
	var few, many strings.Builder
	if err := (diag.Text{}).Print(&few, of(3)); err != nil || strings.Count(few.String(), "\n") != 4 {
		t.Errorf("%v\n%s", err, few.String())
	}
	if err := (diag.Text{}).Print(&many, of(5)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(`z.yaml: error[build-failed]: spec.path: the real one
error[build-failed]: 5 charts of 2 hosts cannot be fetched
  a.example.com (3): no such host
  b.example.com (2): no such host
  at 0.yaml:1: HelmRelease/0
  at 1.yaml:1: HelmRelease/1
  at 2.yaml:1: HelmRelease/2
  and 2 more: --format json lists all
`, many.String()); diff != "" {
		t.Error(diff)
	}
}
