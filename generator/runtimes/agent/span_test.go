package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// TestSpans holds that the span of each job and integration has its text and nothing else, also where reviewers see no
// secrets.
func TestSpans(t *testing.T) {
	const raw = "# metrics:\njob_name: \"scrape_configs: x\"\nmetric_relabel_configs:\n" +
		"  - {action: drop, regex: \"\\\n      - job_name: no\"}\n\nparams: {token: [hunter2]}\n"
	const shown = "job_name: \"scrape_configs: x\"\n"
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatal(err)
	}
	of := func(kind, name string) model.Origin { return model.Origin{Object: diag.Object{Kind: kind, Name: name}} }
	password := model.HTTPClient{
		HTTPAuth: model.HTTPAuth{BasicAuth: &model.BasicAuth{Password: model.Secret{Value: "hunter2", Set: true}}}}
	c := &model.Config{
		Metrics: &model.Metrics{
			Global: model.Global{RemoteWrite: []model.RemoteWrite{{Name: "all", URL: "http://x"}}},
			Configs: []model.Instance{
				{Origin: of("MetricsInstance", "empty"), Name: "one/empty"},
				{Origin: of("MetricsInstance", "a"), Name: "one/a",
					ScrapeConfigs: []*model.ScrapeConfig{{JobName: "first", HTTPClient: password},
						{JobName: "yes", MetricsPath: "/m"}},
					Additional: []model.Raw{{Origin: of("Secret", "s"), Text: []byte(raw), Shown: []byte(shown),
						Job: doc.Content[0]}}},
				{Origin: of("MetricsInstance", "b"), Name: "two/a",
					ScrapeConfigs: []*model.ScrapeConfig{{JobName: "first"}}},
			},
		},
		Logs: &model.Logs{Configs: []model.LogsInstance{{Origin: of("LogsInstance", "a"), Name: "one/a",
			ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "first"}}}}},
		Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "redis",
			Configs: []model.Map{{{Key: "a", Value: model.String("b")}}, {{Key: "a", Value: model.String("c")}}},
			Sources: []model.IntegrationSource{{Origin: of("Integration", "r1")}, {Origin: of("Integration", "r2")}}}}},
	}
	want := []string{"MetricsInstance a first", "MetricsInstance a yes",
		"MetricsInstance a scrape_configs: x by hand, of Secret s", "MetricsInstance b first", "LogsInstance a first",
		"  redis_configs[0], of Integration r1", "  redis_configs[1], of Integration r2"}
	for name, text := range map[string]string{"printed": Print(c).String(), "redacted": PrintRedacted(c).String()} {
		spans := Print(c).Spans
		if name == "redacted" {
			spans = PrintRedacted(c).Spans
		}
		var got []string
		at := 0
		for _, s := range spans {
			one := s.Instance.Kind + " " + s.Instance.Name + " " + s.Name
			if s.HandWritten {
				one += " by hand"
			}
			if s.Origin.Object.Kind != "" {
				one += ", of " + s.Origin.Object.Kind + " " + s.Origin.Object.Name
			}
			got = append(got, one)
			part := text[s.Start:s.End]
			if s.Start < at || !strings.HasPrefix(strings.TrimLeft(part, " "), "- ") ||
				!strings.HasSuffix(part, "\n") || text[s.Start-1] != '\n' {
				t.Errorf("%s: %s is %q", name, one, part)
			}
			at = s.End
			var list []map[string]any
			if err := yaml.Unmarshal([]byte(part),
				&list); err != nil || len(list) != 1 || s.IsJob() && list[0]["job_name"] != s.Name ||
				s.IsJob() == (list[0]["a"] != nil) {
				t.Errorf("%s: %s is %q: %v %v", name, one, part, list, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(text, "hunter2") != (name == "printed") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
