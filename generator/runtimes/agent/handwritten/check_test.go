package handwritten

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
)

func TestUnknownFieldsAreWarningsForOtherAgents(t *testing.T) {
	const text = "job_name: j\nscrape_protocols: []\nkubernetes_sd_configs: [{role: pods}]\n"
	for strict, want := range map[bool]diag.Severity{true: diag.Error, false: diag.Warning} {
		found := Check(Metrics, items(t, text), strict)
		if len(found) != 2 || found[0].Severity != want || found[0].Line != 2 || found[1].Severity != want ||
			found[1].Line != 3 {
			t.Errorf("strict %v: %v", strict, found)
		}
	}
}

func TestFindingsHaveALimit(t *testing.T) {
	const wrong, odd = "hunter: 2\n", "- {}\n"
	for text, want := range map[string]diag.Severity{
		strings.Repeat(odd, MaxFindings):                            "",
		strings.Repeat(odd, MaxFindings+1):                          diag.Warning,
		strings.Repeat(odd, MaxFindings+1) + "- nothing\n":          diag.Error,
		"- nothing\n" + strings.Repeat(odd, MaxFindings+1):          diag.Warning,
		strings.Repeat("- "+wrong, MaxFindings+9) + "- {docker: 1}": diag.Error,
	} {
		found := Check(Logs, items(t, "static_configs: []\npipeline_stages:\n"+text), true)
		if want == "" && len(found) == MaxFindings {
			continue
		}
		if last := found[len(found)-1]; len(found) != MaxFindings+1 || last.Severity != want ||
			last.Message != "further findings are not shown" {
			t.Errorf("%d findings, the last is %v, want %q", len(found), last, want)
		}
	}
}

// TestLargeContentIsCheckedInTime has as many values as build lets pass.
func TestLargeContentIsCheckedInTime(t *testing.T) {
	const values, limit = 200_000, time.Minute
	list := &yaml.Node{Kind: yaml.SequenceNode, Line: 1}
	for range values {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "1", Line: 1})
	}
	scalar := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s, Line: 1} }
	unknown := &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	for i := range values / 2 {
		unknown.Content = append(unknown.Content, scalar("job_names"+strconv.Itoa(i)), scalar("1"))
	}
	if begin := time.Now(); !Check(Metrics, []*yaml.Node{unknown}, true).HasErrors() || time.Since(begin) > limit {
		t.Errorf("unknown fields: took %v", time.Since(begin))
	}
	for _, field := range []string{"pipeline_stages", "static_configs", "relabel_configs", "unknown"} {
		job := &yaml.Node{Kind: yaml.MappingNode, Line: 1,
			Content: []*yaml.Node{scalar("job_name"), scalar("j"), scalar(field), list}}
		begin := time.Now()
		if !Check(Logs, []*yaml.Node{job}, true).HasErrors() || time.Since(begin) > limit {
			t.Errorf("%s: took %v", field, time.Since(begin))
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	jobs := items(b, "job_name: j\nkubernetes_sd_configs: [{role: pod}]\nrelabel_configs:\n"+
		strings.Repeat("- {source_labels: [__address__], regex: '(.+):\\d+', target_label: a, replacement: $1}\n", 20))
	for b.Loop() {
		Check(Metrics, jobs, true)
	}
}
