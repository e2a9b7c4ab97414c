package alloy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// TestSpans holds that the span of each job is one component: of all the files of a folder together as of the single
// file.
func TestSpans(t *testing.T) {
	relabel := []*model.Relabel{{TargetLabel: "a", Replacement: model.Present("}\ndiscovery.relabel \"no\" {")}}
	writers := []model.RemoteWrite{{Name: "all", URL: "http://x"}}
	job := func(name string) *model.ScrapeConfig {
		return &model.ScrapeConfig{JobName: name, Kubernetes: &model.KubernetesSD{Role: "pod"}, Relabel: relabel}
	}
	instance := func(kind, name string) model.Origin {
		return model.Origin{Object: diag.Object{Kind: kind, Name: name}}
	}
	byHand := job("third") // as check makes it of a hand-written one
	byHand.HandWritten = true
	c := &model.Config{
		Metrics: &model.Metrics{Configs: []model.Instance{
			{Origin: instance("MetricsInstance", "a"), Name: "one/a", RemoteWrite: writers,
				ScrapeConfigs: []*model.ScrapeConfig{job("first"), job("second/x-y"), byHand}},
			{Origin: instance("MetricsInstance", "b"), Name: "two/a", RemoteWrite: writers,
				ScrapeConfigs: []*model.ScrapeConfig{job("first")}},
		}},
		Logs: &model.Logs{Configs: []model.LogsInstance{{Origin: instance("LogsInstance", "a"), Name: "one/a",
			Clients: []model.LogsClient{{URL: "http://y:hunter2@z"}},
			ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "podLogs/first",
				Kubernetes: &model.KubernetesSD{Role: "pod"}, Relabel: relabel}},
			Additional: []model.Raw{handWritten(t,
				"job_name: written\nstatic_configs: [{targets: [localhost], labels: {__path__: /log}}]\n")}}}},
	}
	want := map[string]string{
		"MetricsInstance a first":      `discovery.relabel "first" {`,
		"MetricsInstance b first":      `discovery.relabel "first" {`,
		"MetricsInstance a second/x-y": `discovery.relabel "second__x_y" {`,
		"MetricsInstance a third":      `discovery.relabel "additional__one__a__third" {`,
		"LogsInstance a podLogs/first": `discovery.relabel "podLogs__first" {`,
		"LogsInstance a written":       `loki.source.file "one__a__written" {`,
	}
	whole := printed(c, nil)
	files, err := whole.Split("set", 600)
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	several := []runtimes.Text{}
	for _, f := range files {
		several = append(several, f.Text)
	}
	if whole.Redacted().String() == whole.String() {
		t.Error("nothing is redacted")
	}
	for name, texts := range map[string][]runtimes.Text{"printed": {whole.Text}, "redacted": {whole.Redacted()},
		"files": several} {
		got := map[string]string{}
		for _, text := range texts {
			at := 0
			for _, s := range text.Spans {
				part := text.String()[s.Start:s.End]
				first, _, _ := strings.Cut(part, "\n")
				got[s.Instance.Kind+" "+s.Instance.Name+" "+s.Name] = first
				if s.Start < at || !strings.HasSuffix(part, "\n}\n") || checkSyntax([]byte(part)) != nil {
					t.Errorf("%s: %s is\n%s", name, s.Name, part)
				}
				at = s.Start
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// handWritten returns a job as package compile reads it.
func handWritten(t *testing.T, text string) model.Raw {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return model.Raw{Text: []byte(text), Job: doc.Content[0]}
}
