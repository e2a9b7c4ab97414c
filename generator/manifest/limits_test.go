package manifest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
)

const tiny = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"

func nameErrors(s string) []string { return apivalidation.NameIsDNSLabel(s, false) }
func keyErrors(s string) field.ErrorList {
	return metav1validation.ValidateLabels(map[string]string{s: ""}, nil)
}
func valueErrors(s string) field.ErrorList {
	return metav1validation.ValidateLabels(map[string]string{"a": s}, nil)
}

func TestLimits(t *testing.T) {
	padded := func(size int) []byte {
		return append([]byte(tiny+"\n#"), bytes.Repeat([]byte("x"), size-len(tiny)-2)...)
	}
	documents := func(count int) []byte { return []byte(strings.Repeat(tiny+"\n---\n", count)) }
	list := func(count int) []byte {
		return []byte("apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- "+tiny+"\n", count))
	}
	configMap := func(size int) []byte {
		return fmt.Appendf(nil, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {a: %s}}",
			strings.Repeat("x", size))
	}
	annotated := func(size int) []byte {
		return fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {a: %s}}}",
			strings.Repeat("x", size-1))
	}
	for name, test := range map[string]struct {
		data    []byte
		objects int
		code    diag.Code
		broken  int
	}{
		"largest file":          {padded(MaxFileBytes), 1, "", 0},
		"file too large":        {padded(MaxFileBytes + 1), 0, diag.FileTooLarge, 1},
		"most documents":        {documents(MaxDocuments), MaxDocuments, "", 0},
		"too many documents":    {documents(MaxDocuments + 1), MaxDocuments, diag.TooManyDocuments, 1},
		"longest list":          {list(MaxListItems), MaxListItems, "", 0},
		"too long a list":       {list(MaxListItems + 1), MaxListItems, diag.TooManyDocuments, 1},
		"largest ConfigMap":     {configMap(1 << 20), 1, "", 0},
		"too large a ConfigMap": {configMap(1<<20 + 1), 0, diag.InvalidSecret, 0},
		"largest annotations":   {annotated(256 << 10), 1, "", 0},
		"too large annotations": {annotated(256<<10 + 1), 0, diag.InvalidMetadata, 0},
		"nested deeper than read": {[]byte("apiVersion: " + strings.Repeat("[", 200) + strings.Repeat("]", 200)), 0,
			diag.TooComplex, 1},
	} {
		t.Run(name, func(t *testing.T) {
			result := Parse(File{Data: test.data}, Options{})
			if len(result.Objects) != test.objects || result.Broken != test.broken {
				t.Errorf("%d objects, %d broken, want %d, %d", len(result.Objects), result.Broken, test.objects,
					test.broken)
			}
			switch {
			case test.code == "" && len(result.Diags) > 0:
				t.Errorf("diagnostics %v", result.Diags)
			case test.code != "" && (len(result.Diags) != 1 || result.Diags[0].Code != test.code):
				t.Errorf("diagnostics %v, want one of %s", result.Diags, test.code)
			}
		})
	}
}

func TestFindingsAreLimited(t *testing.T) {
	manifest := func(unknown int) []byte {
		var b bytes.Buffer
		b.WriteString("apiVersion: monitoring.grafana.com/v1alpha1\nkind: PodLogs\n" +
			"metadata: {name: a, namespace: b}\nspec:\n  selector: {}\n")
		for i := range unknown {
			fmt.Fprintf(&b, "  unknown%d: 1\n", i)
		}
		return b.Bytes()
	}
	for unknown, want := range map[int]int{MaxFindings: MaxFindings, MaxFindings + 1: MaxFindings + 1,
		2 * MaxFindings: MaxFindings + 1} {
		result := Parse(File{Data: manifest(unknown)}, Options{UnknownFields: IgnoreUnknownFields})
		if len(result.Diags) != want || len(result.Objects) != 1 {
			t.Errorf("%d findings: %d diagnostics, want %d", unknown, len(result.Diags), want)
		}
	}
}

func TestDigestChangesWithOptions(t *testing.T) {
	data := []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}")
	digest := func(data []byte, opts Options) [32]byte { return Parse(File{Data: data}, opts).Objects[0].Digest }
	base := digest(data, Options{})
	if digest(data, Options{}) != base || digest(data, Options{Compatibility: Operator}) != base {
		t.Error("equal inputs have different digests")
	}
	if digest(data, Options{DefaultNamespace: "x"}) == base || digest(data, Options{Compatibility: Current}) == base {
		t.Error("different options have equal digests")
	}
	list := "apiVersion: v1\nkind: List\nitems:\n- " + string(data) + "\n"
	if digest([]byte(list), Options{}) != digest([]byte(list+"- "+tiny), Options{}) {
		t.Error("another item changes an item's digest")
	}
}

func TestValuePosition(t *testing.T) {
	data := []byte(`# c
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: b}
data:
  literal: |
    one
    two
  quoted: "one two"
  folded: >
    one
    two
`)
	o := Parse(File{Data: data}, Options{}).Objects[0]
	for _, test := range []struct {
		path                             string
		line, column, inFile, fileColumn int
	}{
		{"data.literal", 1, 1, 8, 5},
		{"data.literal", 2, 3, 9, 7},
		{"data.quoted", 1, 5, 10, 16},
		{"data.folded", 2, 1, 11, 11},
		{"data.absent", 1, 1, 6, 1},
	} {
		line, column := o.ValuePosition(test.path, test.line, test.column)
		if line != test.inFile || column != test.fileColumn {
			t.Errorf("%s %d:%d is at %d:%d, want %d:%d", test.path, test.line, test.column, line, column, test.inFile,
				test.fileColumn)
		}
	}
}

// TestManyFindingsInOneDocument takes minutes if every finding parses the text again.
func TestManyFindingsInOneDocument(t *testing.T) {
	const items = 2000
	data := "apiVersion: v1\nkind: ConfigMapList\nitems:\n" +
		strings.Repeat("- {metadata: {name: a, namespace: b, label: x}, data: {a: 1}, dataa: {}}\n", items)
	result := Parse(File{Data: []byte(data)}, Options{})
	if len(result.Diags) != 3*items || len(result.Invalid) != items {
		t.Errorf("%d diagnostics, %d invalid", len(result.Diags), len(result.Invalid))
	}
	if last := result.Diags[len(result.Diags)-1]; last.Line != items+3 {
		t.Errorf("the last is in line %d", last.Line)
	}
}

func TestPositionsInJSON(t *testing.T) {
	data := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"},
  "data": {"a": "\ud83d\ude00", "b": 1}}`
	result := Parse(File{Path: "a.json", Data: []byte(data)}, Options{})
	if len(result.Diags) != 1 || result.Diags[0].Position() != "a.json:2:33" {
		t.Errorf("diagnostics %v", result.Diags)
	}
}

// TestAnUnknownStageIsAnErrorBehindManyUnknownFields holds that the limit of findings hides no error, by which the
// stage would be lost.
func TestAnUnknownStageIsAnErrorBehindManyUnknownFields(t *testing.T) {
	var text strings.Builder
	text.WriteString("apiVersion: monitoring.grafana.com/v1alpha1\nkind: PodLogs\nmetadata: {name: a, namespace: x}\n" +
		"spec:\n  selector: {}\n")
	for i := range 3 * MaxFindings {
		fmt.Fprintf(&text, "  added%d: 1\n", i) // sorted before the stages
	}
	text.WriteString("  pipelineStages:\n  - multilines: {}\n")
	result := Parse(File{Path: "a.yaml", Data: []byte(text.String())}, Options{UnknownFields: IgnoreUnknownFields})
	if len(result.Objects) != 0 || len(result.Diags) != MaxFindings+1 ||
		result.Diags[0].Code != diag.UnknownStageField {
		t.Errorf("%d objects, %d findings, the first %v", len(result.Objects), len(result.Diags), result.Diags[0])
	}
}

// TestManyUnknownSettingsOfAStage takes minutes if the key of each is looked for.
func TestManyUnknownSettingsOfAStage(t *testing.T) {
	var text strings.Builder
	text.WriteString("apiVersion: monitoring.grafana.com/v1alpha1\nkind: PodLogs\nmetadata: {name: a, namespace: x}\n" +
		"spec:\n  selector: {}\n  pipelineStages:\n  - drop:\n      expression: x\n")
	for i := range 100_000 {
		fmt.Fprintf(&text, "      added%d: 1\n", i)
	}
	result := Parse(File{Path: "a.yaml", Data: []byte(text.String())}, Options{UnknownFields: IgnoreUnknownFields})
	if len(result.Objects) != 1 || len(result.Diags) != MaxFindings+1 {
		t.Errorf("%d objects, %d findings", len(result.Objects), len(result.Diags))
	}
}
