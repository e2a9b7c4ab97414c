package printed_test

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/runtime/alloy"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/printed"
)

// TestJobsAreFound finds every job in a printed configuration, alone and in the manifest of a Secret.
func TestJobsAreFound(t *testing.T) {
	relabel := []*model.Relabel{{TargetLabel: "a", Replacement: model.Present("}\ndiscovery.relabel \"no\" {")}}
	writers := []model.RemoteWrite{{Name: "all", URL: "http://x"}}
	job := func(name string) *model.ScrapeConfig {
		return &model.ScrapeConfig{JobName: name, Kubernetes: &model.KubernetesSD{Role: "pod"}, Relabel: relabel}
	}
	written := job("third") // as check makes it of a hand-written one
	written.HandWritten = true
	config := alloy.Print(&model.Config{
		Metrics: &model.Metrics{Configs: []model.Instance{
			{Name: "one/a", RemoteWrite: writers, ScrapeConfigs: []*model.ScrapeConfig{job("first"), job("second/x-y"), written}},
			{Name: "two/a", RemoteWrite: writers, ScrapeConfigs: []*model.ScrapeConfig{job("first")}},
		}},
		Logs: &model.Logs{Configs: []model.LogsInstance{{Name: "one/a", Clients: []model.LogsClient{{URL: "http://y"}},
			ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "podLogs/first", Kubernetes: &model.KubernetesSD{Role: "pod"}, Relabel: relabel}},
			Additional:    []model.Raw{handWritten(t, "job_name: written\nstatic_configs: [{targets: [localhost], labels: {__path__: /log}}]\n")}}}},
	})
	indented := "stringData:\n  config.alloy: |\n    " + strings.ReplaceAll(strings.TrimSuffix(string(config), "\n"), "\n", "\n    ") + "\n"
	for where, text := range map[string]string{"alone": string(config), "in a manifest": indented} {
		lines, found := strings.SplitAfter(text, "\n"), printed.Jobs([]byte(text))
		for _, job := range []runtime.Job{
			{Instance: "one/a", Name: "first"}, {Instance: "one/a", Name: "second/x-y"}, {Instance: "one/a", Name: "third"},
			{Instance: "two/a", Name: "first"}, {IsLogs: true, Instance: "one/a", Name: "podLogs/first"}, {IsLogs: true, Instance: "one/a", Name: "written"},
		} {
			i := slices.IndexFunc(found, func(p runtime.PrintedJob) bool { return slices.Contains(printed.JobNames(job), p.Name) })
			if i < 0 {
				t.Errorf("%s: %+v is not found in\n%s", where, job, text)
				continue
			}
			p := found[i]
			whole := text[len(strings.Join(lines[:p.Line-1], "")):][:p.Bytes]
			if !strings.HasSuffix(strings.TrimRight(whole, " \n"), "\n"+strings.Repeat(" ", strings.Index(lines[p.Line-1], strings.TrimLeft(lines[p.Line-1], " ")))+"}") || strings.Count(whole, "{\n") < 1 {
				t.Errorf("%s: %+v is\n%s", where, job, whole)
			}
		}
	}
}

// FuzzJobs holds that every text can be read, and that jobs lie in it.
func FuzzJobs(f *testing.F) {
	f.Add("discovery.relabel \"a\" {\n\trule {\n\t}\n}\n")
	f.Add("  loki.source.file \"a\" {\n")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, j := range printed.Jobs([]byte(text)) {
			if total += j.Bytes; j.Line < 1 || j.Line > strings.Count(text, "\n")+1 {
				t.Errorf("line %d of %q", j.Line, text)
			}
		}
		if total > len(text) {
			t.Errorf("%d bytes of jobs in %q", total, text)
		}
	})
}

// handWritten returns a job as package build reads it.
func handWritten(t *testing.T, text string) model.Raw {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return model.Raw{Text: []byte(text), Job: doc.Content[0]}
}
