package diag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// away returns problems of one cause, and the real one.
func away(n int) (list diag.List) {
	for i := range n {
		d := diag.BuildFailed.At("spec.chart", "chart%d: no such host", i)
		d.File, d.Line = fmt.Sprintf("%d.yaml", i), 1
		d.Cause = diag.Cause{Things: "charts", Problem: "cannot be fetched", Hint: "check the network",
			Of: []string{"a.example.com", "b.example.com"}[i%2], Many: "hosts", Reason: "no such host"}
		d.Object = diag.Object{Kind: "HelmRelease", Name: fmt.Sprint(i)}
		list = append(list, d)
	}
	real := diag.BuildFailed.At("spec.path", "the real one")
	real.File = "z.yaml"
	return append(list, real)
}

// TestProblemsOfOneCauseAreOneBlock after all others, unless they are few.
func TestProblemsOfOneCauseAreOneBlock(t *testing.T) {
	t.Parallel()
	var few, many strings.Builder
	if err := (diag.Text{}).Print(&few, away(3)); err != nil || strings.Count(few.String(), "\n") != 4 {
		t.Errorf("%v\n%s", err, few.String())
	}
	if err := (diag.Text{}).Print(&many, away(5)); err != nil {
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
  hint: check the network
`, many.String()); diff != "" {
		t.Error(diff)
	}
}

// TestABlockSaysOneThing: what is not in the cache is not what cannot be fetched.
func TestABlockSaysOneThing(t *testing.T) {
	t.Parallel()
	list := away(8)
	for i := range 4 {
		list[i].Cause.Problem = "are not in the cache"
	}
	var out strings.Builder
	if err := (diag.Text{}).Print(&out, list); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"4 charts of 2 hosts are not in the cache", "4 charts of 2 hosts cannot be fetched"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not %q:\n%s", want, out.String())
		}
	}
}

// TestABlockIsOneAnnotation, and one result of a log: a step of GitHub shows 10. Programs get all.
func TestABlockIsOneAnnotation(t *testing.T) {
	t.Parallel()
	var annotations, log, data strings.Builder
	for out, p := range map[*strings.Builder]diag.Printer{&annotations: diag.GitHub{}, &log: diag.SARIF{},
		&data: diag.JSON{}} {
		if err := p.Print(out, away(48)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("::error file=z.yaml,title=build-failed::spec.path: the real one\n"+
		"::error file=0.yaml,line=1,title=build-failed::48 charts of 2 hosts cannot be fetched%0A"+
		"a.example.com (24): no such host%0Ab.example.com (24): no such host%0A"+
		"at 0.yaml:1: HelmRelease/0%0Aat 1.yaml:1: HelmRelease/1%0Aat 2.yaml:1: HelmRelease/2%0A"+
		"and 45 more: --format json lists all%0Ahint: check the network\n", annotations.String()); diff != "" {
		t.Error(diff)
	}
	if text := log.String(); strings.Count(text, "ruleIndex") != 2 || strings.Count(text, `"uri"`) != 49 {
		t.Error(text)
	}
	if n := strings.Count(data.String(), `"code"`); n != 49 {
		t.Errorf("%d findings for programs", n)
	}
}

// TestTheFingerprintOfABlockStays when there are more of them.
func TestTheFingerprintOfABlockStays(t *testing.T) {
	t.Parallel()
	of := func(n int) (out string) {
		var log strings.Builder
		if err := (diag.SARIF{}).Print(&log, away(n)); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "agentry/v1") {
				out = line
			}
		}
		return out
	}
	if of(5) == "" || of(5) != of(48) {
		t.Error("the fingerprint follows the number")
	}
}

// TestFlagsAreARemedyAtADesk: beside that in a pipeline file if one governs, else alone, also of many problems.
func TestFlagsAreARemedyAtADesk(t *testing.T) {
	t.Parallel()
	d := diag.BuildRefused.At("", "is remote").
		Because(diag.Cause{Things: "entries", Hint: "list it in the pipeline", Flags: "--remotes fetches it"})
	for hasFile, want := range map[bool]string{true: "list it in the pipeline; --remotes fetches it",
		false: "--remotes fetches it"} {
		if got := d.AtDesk(hasFile).AtDesk(hasFile); got.Hint != want || got.Cause.Hint != want {
			t.Errorf("%q, %q, want %q", got.Hint, got.Cause.Hint, want)
		}
	}
	if d = diag.BuildRefused.At("", "is remote").WithHint("remove it"); d.AtDesk(false).Hint != "remove it" {
		t.Error("there are no flags for it")
	}
}
