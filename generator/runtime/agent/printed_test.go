package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
)

// TestJobsAreFound finds jobs in a printed configuration, alone and in the manifest of a Secret.
func TestJobsAreFound(t *testing.T) {
	raw := "# metrics:\njob_name: \"scrape_configs: x\"\nmetric_relabel_configs:\n  - {action: drop, regex: \"\\\n      - job_name: no\"}\n\n'name': |\n  configs:\n   - name: no\n"
	config := Print(&model.Config{
		Metrics: &model.Metrics{
			Global: model.Global{RemoteWrite: []model.RemoteWrite{{Name: "all", URL: "http://x"}}},
			Configs: []model.Instance{
				{Name: "one/empty"},
				{Name: "one/a", ScrapeConfigs: []*model.ScrapeConfig{{JobName: "first"}, {JobName: "yes", MetricsPath: "/m"}}, Additional: []model.Raw{{Text: []byte(raw)}}},
				{Name: "two/a", ScrapeConfigs: []*model.ScrapeConfig{{JobName: "first"}}},
			},
		},
		Logs: &model.Logs{Configs: []model.LogsInstance{{Name: "one/a", ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "first"}}}}},
	})
	head := "apiVersion: v1\nkind: Secret\nmetadata:\n  labels:\n    metrics: \"\"\nstringData:\n  agent.yml: |\n"
	indented := head + "    " + strings.ReplaceAll(strings.TrimSuffix(string(config), "\n"), "\n", "\n    ") + "\n"
	want := []runtime.Job{{IsLogs: false, Instance: "one/a", Name: "first"}, {IsLogs: false, Instance: "one/a", Name: "yes"}, {IsLogs: false, Instance: "one/a", Name: "scrape_configs: x"}, {IsLogs: false, Instance: "two/a", Name: "first"}, {IsLogs: true, Instance: "one/a", Name: "first"}}
	for name, text := range map[string]string{"alone": string(config), "in a manifest": indented} {
		var got []string
		lines := strings.SplitAfter(text, "\n")
		for _, j := range Jobs([]byte(text)) {
			got = append(got, j.Name)
			if !strings.HasPrefix(strings.TrimLeft(lines[j.Line-1], " "), "- ") || j.Bytes < len(lines[j.Line-1]) {
				t.Errorf("%s: %s is not at line %d: %q, %d bytes", name, j.Name, j.Line, lines[j.Line-1], j.Bytes)
			}
		}
		var names []string
		for _, job := range want {
			names = append(names, JobNames(job)...)
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, diff, text)
		}
	}
	if got := Jobs(nil); got != nil {
		t.Errorf("nothing has jobs: %v", got)
	}
}

// FuzzJobs holds that every text can be read, and that jobs lie in it.
func FuzzJobs(f *testing.F) {
	f.Add("metrics:\n  configs:\n    - name: a\n      scrape_configs:\n        - job_name: b\n")
	f.Add("    logs:\n      configs:\n        - name: a\n          scrape_configs:\n            -\n              job_name: [\n")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, j := range Jobs([]byte(text)) {
			if total += j.Bytes; j.Line < 1 || j.Line > strings.Count(text, "\n")+1 {
				t.Errorf("line %d of %q", j.Line, text)
			}
		}
		if total > len(text) {
			t.Errorf("jobs have %d bytes of %d", total, len(text))
		}
	})
}
