package stages_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
)

const corpus = "../../../../test/conformance/operator"

// TestOperatorsStages compares the stages of every case's PodLogs with those that the
// operator rendered.
func TestOperatorsStages(t *testing.T) {
	compared := 0
	for _, name := range []string{"stages-parsing", "stages-labels", "stages-metrics", "stages-lossy",
		"real-log-pipelines", "podlogs-enforced-ignore"} {
		want := operatorsStages(t, name)
		for _, p := range podLogs(t, name) {
			job := "podLogs/" + p.Namespace + "/" + p.Name
			pipeline, findings := build("spec.pipelineStages", p.Spec.PipelineStages)
			if diff := cmp.Diff(want[job], decoded(t, pipeline)); diff != "" {
				t.Errorf("%s: %s (-operator +agentry):\n%s", name, job, diff)
			}
			compared++
			for _, f := range findings {
				if f.Severity == diag.Error && name != "stages-lossy" {
					t.Errorf("%s: %s: %v", name, job, f)
				}
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d pipelines were compared", compared)
	}
}

// operatorsStages are the pipelines that the operator rendered in a case, by job.
func operatorsStages(t *testing.T, name string) map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, name, "expected", "*logs-config.agent.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal(name, err)
	}
	all := map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Logs struct {
				Configs []struct {
					ScrapeConfigs []struct {
						JobName        string `json:"job_name"`
						PipelineStages any    `json:"pipeline_stages"`
					} `json:"scrape_configs"`
				}
			}
		}
		if err := yaml.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		for _, c := range config.Logs.Configs {
			for _, job := range c.ScrapeConfigs {
				all[job.JobName] = job.PipelineStages
			}
		}
	}
	return all
}

// podLogs are the PodLogs of a case's input.
func podLogs(t testing.TB, name string) []*v1alpha1.PodLogs {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name, "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*v1alpha1.PodLogs
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		p := &v1alpha1.PodLogs{}
		if err := yaml.Unmarshal(document, p); err == nil && p.Kind == "PodLogs" {
			all = append(all, p)
		}
	}
	return all
}

// decoded is what the agent reads of a pipeline once it is written.
func decoded(t testing.TB, pipeline []model.Stage) any {
	t.Helper()
	text := agent.Print(&model.Config{Logs: &model.Logs{Configs: []model.LogsInstance{{
		Name: "x", ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "x", Stages: pipeline}},
	}}}})
	var config struct {
		Logs struct {
			Configs []struct {
				ScrapeConfigs []struct {
					PipelineStages any `json:"pipeline_stages"`
				} `json:"scrape_configs"`
			}
		}
	}
	if err := yaml.Unmarshal(text.Bytes, &config); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return config.Logs.Configs[0].ScrapeConfigs[0].PipelineStages
}
