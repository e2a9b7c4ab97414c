package stage

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// value is what a value stands for, in the types that YAML is decoded to.
func value(t testing.TB, v model.Value) any {
	t.Helper()
	switch v := v.(type) {
	case model.Map:
		m := map[string]any{}
		for _, p := range v {
			if _, twice := m[p.Key]; twice {
				t.Errorf("the key %q is there twice", p.Key)
			}
			m[p.Key] = value(t, p.Value)
		}
		return m
	case model.List:
		l := []any{}
		for _, item := range v {
			l = append(l, value(t, item))
		}
		return l
	case model.Number:
		var n any
		if err := yaml.Unmarshal([]byte(v), &n); err != nil {
			t.Error(err)
		}
		return n
	case int64:
		return float64(v)
	}
	return v
}

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
	for _, name := range []string{"stages-parsing", "stages-labels", "stages-metrics", "stages-lossy", "real-log-pipelines"} {
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
		stages, findings := Build("p", specs)
		failed := false
		for _, f := range findings {
			failed = failed || f.Severity == diag.Error
			if _, known := diag.Lookup(f.Code); !known || f.Message == "" || f.Path != "" && !strings.HasPrefix(f.Path, "p[") {
				t.Errorf("%+v", f)
			}
		}
		again, _ := Build("p", specs)
		if diff := cmp.Diff(stages, again); diff != "" {
			t.Errorf("built otherwise the second time:\n%s", diff)
		}
		if failed || len(stages) == 0 {
			return
		}
		var want []any
		for _, s := range stages {
			want = append(want, value(t, s))
		}
		if diff := cmp.Diff(any(want), decoded(t, stages)); diff != "" {
			t.Errorf("read otherwise than built (-built +read):\n%s", diff)
		}
	})
}

// BenchmarkBuild builds the three pipelines of a case.
func BenchmarkBuild(b *testing.B) {
	pods := podLogs(b, "real-log-pipelines")
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pods {
			if stages, findings := Build("spec.pipelineStages", p.Spec.PipelineStages); len(stages) == 0 || len(findings) > 0 {
				b.Fatal(findings)
			}
		}
	}
}
