package stages_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// reports are the diagnostics about the pipelines of a file, as they are printed.
func reports(data []byte) []string {
	var out []string
	for _, o := range manifest.Parse(manifest.File{Path: "f.yaml", Data: data}, manifest.Options{}).Objects {
		p, ok := o.Value().(*v1alpha1.PodLogs)
		if !ok {
			continue
		}
		_, findings := build("spec.pipelineStages", p.Spec.PipelineStages)
		for _, f := range findings {
			out = append(out, o.Place(f).String())
		}
	}
	return out
}

func TestBadCasesAreReportedWhereTheyAre(t *testing.T) {
	for name, want := range map[string][]string{
		"bad-match-stages-not-list": {
			"f.yaml:31:9: error[invalid-stage]: spec.pipelineStages[0].match.stages: must be a list of stages, is a " +
				"mapping"},
		"bad-match-stages-yaml": {
			"f.yaml:30:24: error[invalid-embedded-yaml]: spec.pipelineStages[0].match.stages>1:9: the mapping that " +
				"begins here is not closed"},
		"bad-histogram-bucket": {
			`f.yaml:28:66: error[invalid-stage]: spec.pipelineStages[0].metrics.h.buckets[1]: "+Inf" is not a number as JSON has it`},
		"stages-lossy": {
			"f.yaml:29:5: error[invalid-stage]: spec.pipelineStages[0].json: needs expressions, at least one",
			"f.yaml:30:5: error[invalid-stage]: spec.pipelineStages[1].limit.rate: must be above zero",
			"f.yaml:30:5: error[invalid-stage]: spec.pipelineStages[1].limit.burst: must be above zero",
			"f.yaml:31:5: warning[stage-ignored]: spec.pipelineStages[2]: the stage is empty, and does nothing",
			`f.yaml:32:21: error[invalid-stage]: spec.pipelineStages[3].metrics.odd.type: must be counter, gauge or histogram, is "summary"`,
			`f.yaml:35:7: error[invalid-stage]: spec.pipelineStages[4].labels.1: "1" is not a label name`,
			`f.yaml:42:23: warning[stage-ignored]: spec.pipelineStages[6].match.stages>[0].labelDrop[0]: "größe" is not a label name: no line has such a label`,
		},
	} {
		data, err := os.ReadFile("../../../../test/conformance/operator/" + name + "/input.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, reports(data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheManualsExampleIsFine reads the example of docs/logs.md.
func TestTheManualsExampleIsFine(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```\n")
	if !strings.Contains(example, "pipelineStages") {
		t.Fatal("there is none")
	}
	if got := reports([]byte(example)); got != nil {
		t.Error(got)
	}
}

const nested = `apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata: {name: a, namespace: b}
spec:
  selector: {}
  pipelineStages:
  - match:
      selector: '{app="x"} | json'
      stages: |
        - docker: {}

        - match:
            selector: '{level=~"("}'
            stages: |
              # Here, deep inside.
              - regex:
                  expression: "("
              - regexp: {}
              - drop:
                  older_than: 1h
              - template:
                  source: a
                  template: |
                    {{ .Value }}
                    {{ .Value | ToLowr }}
  - match:
      selector: '{app="x"}'
      stages: |
        - json:
           expressions: {a: "b c"}
          source: d
  - match:
      selector: '{app="x"}'
      stages: |
        - output: {source: a}
        - json: {expressions: {a: "b c", "on": ""}}
        - labels: {
`

func TestNestedPositions(t *testing.T) {
	want := []string{
		"f.yaml:18:17: error[unknown-stage-field]: spec.pipelineStages[0].match.stages>[1].match.stages>[1].regexp: " +
			"unknown key",
		"f.yaml:20:19: error[unknown-stage-field]: " +
			"spec.pipelineStages[0].match.stages>[1].match.stages>[2].drop.older_than: unknown key",
		"f.yaml:31:11: error[unknown-stage-field]: spec.pipelineStages[1].match.stages>[0].source: unknown key",
		"f.yaml:37:19: error[invalid-embedded-yaml]: spec.pipelineStages[2].match.stages>3:11: the mapping that " +
			"begins here is not closed",
		`f.yaml:8:28: error[invalid-logql]: spec.pipelineStages[0].match.selector>1:11: expected a line filter (|=, !=, |~ or !~), found |: a match stage knows nothing else of LogQL`,
		"f.yaml:13:32: error[invalid-logql]: spec.pipelineStages[0].match.stages>[1].match.selector>1:9: error " +
			"parsing regexp: missing closing ): `(`",
		"f.yaml:17:19: error[invalid-stage]: " +
			"spec.pipelineStages[0].match.stages>[1].match.stages>[0].regex.expression: error parsing regexp: " +
			"missing closing ): `(`",
		`f.yaml:25:21: error[invalid-stage]: spec.pipelineStages[0].match.stages>[1].match.stages>[3].template.template>2:1: is not a Go template: function "ToLowr" not defined`,
	}
	if diff := cmp.Diff(want, reports([]byte(nested))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
