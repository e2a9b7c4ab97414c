package stages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
)

// nest puts stages into match stages, so many deep.
func nest(stages string, depth int) string {
	for range depth {
		stages = "- match:\n    selector: '{a=\"b\"}'\n    stages: |\n      " +
			strings.ReplaceAll(stages, "\n", "\n      ") + "\n"
	}
	return stages
}

func TestLimits(t *testing.T) {
	deepPath := "p[0].match.stages" + strings.Repeat(">[0].match.stages", stage.MaxDepth)
	long := strings.Repeat("a", stages.MaxExpressionBytes)
	many := strings.Repeat("- docker: {}\n", stage.MaxStages-1)
	big := "- docker: {}\n#" + strings.Repeat("x", stage.MaxNestedBytes-14)
	match := func(stages string) []*v1alpha1.PipelineStageSpec {
		return []*v1alpha1.PipelineStageSpec{{Match: &v1alpha1.MatchStageSpec{Selector: `{a="b"}`, Stages: stages}}}
	}
	for name, c := range map[string]struct {
		stages []*v1alpha1.PipelineStageSpec
		want   string
	}{
		"as deep as may be": {specs(t, nest("- docker: {}", stage.MaxDepth)), ""},
		"deeper": {specs(t, nest("- docker: {}", stage.MaxDepth+1)),
			"error[too-many-stages] " + deepPath + ": match stages are nested more than 10 deep"},
		"as many as may be": {match(many), ""},
		"one more": {match(many + "- cri: {}"),
			"error[too-many-stages] p[0].match.stages>[999]: the pipeline has more than 1000 stages"},
		"as much text as may be": {match(big), ""},
		"a byte more": {match(big + "x"),
			"error[too-many-stages] p[0].match.stages: the match stages of the pipeline hold more than 1048576 bytes " +
				"of YAML"},
		"as long as may be": {specs(t, "- drop: {expression: "+long+"}"), ""},
		"a longer expression": {specs(t, "- drop: {expression: "+long+"a}"),
			"error[invalid-stage] p[0].drop.expression: has 65537 bytes, more than 65536"},
		"a longer JMESPath": {specs(t, "- json: {expressions: {a: "+long+"a}}"),
			"error[invalid-stage] p[0].json.expressions.a: has 65537 bytes, more than 65536"},
		"a longer selector": {specs(t, "- match: {action: drop, selector: "+long+"a}"),
			"error[invalid-stage] p[0].match.selector: has 65537 bytes, more than 65536"},
		"a longer template": {specs(t, "- template: {source: a, template: '{{"+long+"'}"),
			"error[invalid-stage] p[0].template.template: has 65538 bytes, more than 65536"},
		"a null": {[]*v1alpha1.PipelineStageSpec{nil},
			"error[invalid-stage] p[0]: is null, not a stage"},
		"deep in a JMESPath": {specs(t,
			"- json: {expressions: {a: '"+strings.Repeat("!", stages.MaxExpressionBytes-1)+"a'}}"), ""},
		"deep in a template": {specs(t,
			"- template: {source: a, template: '"+strings.Repeat("{{if 1}}", 4000)+strings.Repeat("{{end}}", 4000)+
				"'}"), ""},
		"deep in another template": {specs(t, "- template: {source: a, template: '{{"+strings.Repeat("(", 60000)+"'}"),
			"error[invalid-stage] p[0].template.template>1:1: is not a Go template: max expression depth exceeded"},
	} {
		_, findings := build("p", c.stages)
		var got []string
		for _, f := range findings {
			got = append(got, text(f))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %.500s", name, got)
		}
	}
}

func TestFindingsHaveALimit(t *testing.T) {
	const warning, failure = "- {}\n", "- output: {source: ''}\n"
	for stages, want := range map[string]diag.Severity{
		strings.Repeat(warning, stage.MaxFindings):               "",
		strings.Repeat(warning, stage.MaxFindings+1):             diag.Warning,
		strings.Repeat(warning, stage.MaxFindings+5) + failure:   diag.Error,
		strings.Repeat(failure, stage.MaxFindings) + warning:     diag.Warning,
		strings.Repeat(failure, stage.MaxFindings+300) + warning: diag.Error,
	} {
		_, findings := build("p", specs(t, stages))
		if len(findings) < stage.MaxFindings || len(findings) > stage.MaxFindings+1 {
			t.Fatalf("%d findings", len(findings))
		}
		for _, f := range findings[stage.MaxFindings:] {
			if fmt.Sprint(f.Severity) != string(want) || f.Path != "" ||
				f.Message != "further findings about the pipeline are not shown" {
				t.Errorf("%v, want %q", f, want)
			}
		}
		if want == "" && len(findings) > stage.MaxFindings {
			t.Error("one too many")
		}
	}
}
