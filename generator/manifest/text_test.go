package manifest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

const nested = `# A comment, so that nothing begins at line 1.
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata: {name: a, namespace: b}
spec:
  selector: {}
  pipelineStages:
  - match:
      selector: '{app="ü"} |= (x)'
      stages: |
        # outer

        - docker: {}
        - match:
            selector: '{level="error"}'
            stages: |2
                - regex:
                    expression: "("
              - docker: {}
  - match:
      selector: "{app=\"x\"} |= (x)"
      stages: '[{"match": {"stages": "[{json: {source: a}}]"}}]'
  - match:
      selector: >-
        {app="x"}
        |= y
      stages: &shared |-
        - output: {source: a}
  - match: {selector: x, stages: *shared}
  - match:
      selector: x
      stages: "- output:\n    source: a\n"
  - match:
      selector: x
      stages: '- {'
  - labels:
      a>b: c
      a: "x: y"
`

func TestPositionsInText(t *testing.T) {
	result := Parse(File{Path: "f", Data: []byte(nested)}, Options{})
	if len(result.Objects) != 1 {
		t.Fatal(result.Diags)
	}
	o := result.Objects[0]
	for path, want := range map[string]string{
		"spec.pipelineStages[0].match.stages":                           "11:7",
		"spec.pipelineStages[0].match.stages>":                          "14:9",
		"spec.pipelineStages[0].match.stages>[0].docker":                "14:11",
		"spec.pipelineStages[0].match.stages>[1]":                       "15:11",
		"spec.pipelineStages[0].match.stages>[1].match.selector":        "16:13",
		"spec.pipelineStages[0].match.stages>[1].match.selector>1:13":   "16:36",
		"spec.pipelineStages[0].match.stages>[1].match.stages>1:3":      "18:17",
		"spec.pipelineStages[0].match.stages>[1].match.stages>3:1":      "20:15",
		"spec.pipelineStages[0].match.stages>3:5":                       "14:13",
		"spec.pipelineStages[0].match.stages>2:1":                       "13:1",
		"spec.pipelineStages[0].match.stages>99:1":                      "11:15",
		"spec.pipelineStages[0].match.stages>[9].docker":                "14:9",
		"spec.pipelineStages[0].match.stages>[1].match.absent":          "15:11",
		"spec.pipelineStages[0].match.selector>1:14":                    "10:31",
		"spec.pipelineStages[1].match.selector>1:3":                     "22:20",
		"spec.pipelineStages[1].match.selector>1:14":                    "22:17",
		"spec.pipelineStages[1].match.stages>[0].match.stages":          "23:28",
		"spec.pipelineStages[1].match.stages>[0].match.stages>[0].json": "23:41",
		"spec.pipelineStages[2].match.selector>1:4":                     "25:17",
		"spec.pipelineStages[2].match.stages>[0].output.source":         "29:20",
		"spec.pipelineStages[3].match.stages>[0].output.source":         "29:20",
		"spec.pipelineStages[4].match.stages>[0].output.source":         "33:15",
		"spec.pipelineStages[5].match.stages>[0].a":                     "36:16",
		"spec.pipelineStages[5].match.stages>1:4":                       "36:19",
		"spec.pipelineStages[6].labels.a>b":                             "38:7",
		"spec.pipelineStages[6].labels.a>x":                             "39:11",
		"spec.pipelineStages[6].labels>x":                               "37:5",
		"spec.pipelineStages[6].labels[a>b]":                            "38:7",
		"spec.pipelineStages>[0]":                                       "8:3",
		"spec.selector>1:1":                                             "7:3",
		"spec.absent>1:1":                                               "6:1",
		">":                                                             "3:1",
		"":                                                              "3:1",
	} {
		if line, column := o.Position(path); fmt.Sprintf("%d:%d", line, column) != want {
			t.Errorf("%s is at %d:%d, want %s", path, line, column, want)
		}
	}
}

// FuzzPosition holds that every path has a position within the file.
func FuzzPosition(f *testing.F) {
	for _, path := range []string{
		"spec.pipelineStages[0].match.stages>[1].match.stages>[0].regex.expression",
		"spec.pipelineStages[1].match.stages>[0].match.stages>[0].json",
		"spec.pipelineStages[0].match.stages>3:5", "spec.pipelineStages[5].match.stages>1:4", "spec.config>a.b",
		"data.a>>>", ">>", "metadata.labels[a>b]>1:1",
	} {
		f.Add([]byte(nested), path)
	}
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\r\ndata:\r\n  a: |+\r\n"+
		"    b: c\r\n\r\n\r\n  d: >\r\n    e\r\n"), "data.a>b")
	f.Add([]byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {"a": "b: c"}}`), "data.a>b")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		result := Parse(File{Path: "f", Data: data}, Options{DefaultNamespace: "x"})
		for _, o := range result.Objects {
			line, column := o.Position(path)
			written, ok := lineOf(string(data), line)
			if !ok && line != 1 || column < 1 {
				t.Errorf("%q is at %d:%d", path, line, column)
			}
			if strings.Contains(path, ">") && column > utf8.RuneCountInString(written)+2 {
				t.Errorf("%q is at %d:%d, behind the end of %q", path, line, column, written)
			}
		}
	})
}

// TestATextIsParsedOnceForAllFindings counts allocations: many findings about one text must not take a parse each.
func TestATextIsParsedOnceForAllFindings(t *testing.T) {
	const values = 2000
	result := Parse(File{Path: "a.yaml", Data: []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: a, namespace: b}
spec:
  name: postgres
  type: normal
  config: |
    data_source_names: [` + strings.Repeat("1,", values) + "1]\n")}, Options{})
	if len(result.Objects) != 1 {
		t.Fatal(result.Diags)
	}
	o := result.Objects[0]
	if n := testing.AllocsPerRun(10, func() { o.Position("spec.config>data_source_names[1000]") }); n > values/2 {
		t.Errorf("%.0f allocations for a position in a text of %d values", n, values)
	}
}
