package stages_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

// FuzzBuild feeds pipelines of any content. Whatever is built without an error must be read
// by the agent as it is meant, and every finding must be a whole one.
func FuzzBuild(f *testing.F) {
	data, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "- ") {
			f.Add(line)
		}
	}
	for _, name := range []string{"stages-parsing", "stages-labels", "stages-metrics", "stages-lossy",
		"real-log-pipelines"} {
		for _, p := range podLogs(f, name) {
			text, err := yaml.Marshal(p.Spec.PipelineStages)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var specs []*v1alpha1.PipelineStageSpec
		if yaml.Unmarshal([]byte(text), &specs) != nil {
			return
		}
		pipeline, findings := build("p", specs)
		failed := false
		for _, f := range findings {
			failed = failed || f.Severity == diag.Error
			if _, known := diag.Lookup(f.Code); !known || f.Message == "" ||
				f.Path != "" && !strings.HasPrefix(f.Path, "p[") {
				t.Errorf("%+v", f)
			}
		}
		again, _ := build("p", specs)
		if diff := cmp.Diff(pipeline, again); diff != "" {
			t.Errorf("built otherwise the second time:\n%s", diff)
		}
		if failed || len(pipeline) == 0 {
			return
		}
		read, _ := decoded(t, pipeline).([]any)
		if len(read) != len(pipeline) {
			t.Fatalf("%d stages are read of %d", len(read), len(pipeline))
		}
		for i, s := range read {
			if kinds, ok := s.(map[string]any); !ok || len(kinds) > 1 {
				t.Errorf("stage %d is read as %v", i, s)
			}
		}
	})
}

// BenchmarkBuild builds the three pipelines of a case.
func BenchmarkBuild(b *testing.B) {
	pods := podLogs(b, "real-log-pipelines")
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pods {
			if pipeline, findings := build("spec.pipelineStages", p.Spec.PipelineStages); len(pipeline) == 0 ||
				len(findings) > 0 {
				b.Fatal(findings)
			}
		}
	}
}
