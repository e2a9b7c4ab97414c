package stages_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestRules holds what is found in the stages of testdata/rules.txt: one pipeline a line, and
// indented below it the findings.
func TestRules(t *testing.T) {
	const file = "testdata/rules.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		b.WriteString(line)
		_, findings := build("p", specs(t, line))
		for _, f := range findings {
			b.WriteString("    " + text(f) + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// specs reads stages as a PodLogs has them.
func specs(t testing.TB, text string) []*v1alpha1.PipelineStageSpec {
	t.Helper()
	var stages []*v1alpha1.PipelineStageSpec
	if err := yaml.UnmarshalStrict([]byte(text), &stages); err != nil {
		t.Fatalf("%.500v:\n%.500s", err, text)
	}
	return stages
}

// text is a finding with its hint in brackets.
func text(f diag.Diagnostic) string {
	line := fmt.Sprintf("%s[%s] %s: %s", f.Severity, f.Code, f.Path, f.Message)
	if f.Hint != "" {
		line += " (" + f.Hint + ")"
	}
	return line
}

// TestRulesAcrossStages holds what depends on the stages before.
func TestRulesAcrossStages(t *testing.T) {
	const histogram = "- metrics: {h: {type: histogram, action: inc}}\n"
	const crash = `error[invalid-stage] p[%d].metrics.h: a histogram cannot have the label le, which p[0].labels.le sets: the agent would crash at the first line`
	for stages, want := range map[string][]string{
		"- labels: {le: x}\n" + histogram:                                               {fmt.Sprintf(crash, 1)},
		"- labels: {le: x}\n- labelDrop: [a]\n" + histogram:                             {fmt.Sprintf(crash, 2)},
		"- labels: {le: x}\n- labelAllow: [le]\n" + histogram:                           {fmt.Sprintf(crash, 2)},
		"- labels: {le: x}\n- labelDrop: [le]\n" + histogram:                            nil,
		"- labels: {le: x}\n- labelAllow: [a]\n" + histogram:                            nil,
		histogram + "- labels: {le: x}":                                                 nil,
		"- metrics: {a: {type: counter, action: inc}}\n" + histogram:                    nil,
		histogram + "- metrics: {h: {type: Histogram, action: add}}":                    nil,
		histogram + "- metrics: {h: {type: counter, action: inc}}":                      {other},
		histogram + "- metrics: {h: {type: histogram, action: inc, description: text}}": {other},
		histogram + "- metrics: {m_h: {type: counter, action: inc, prefix: promtail_custo}}": {strings.ReplaceAll(other,
			"metrics.h", "metrics.m_h")},
	} {
		_, findings := build("p", specs(t, stages))
		var got []string
		for _, f := range findings {
			got = append(got, text(f))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", stages, diff)
		}
	}
}

const other = `warning[stage-ignored] p[1].metrics.h: promtail_custom_h is defined before with another type or description: the agent's own metrics cannot be read once both are counted`
