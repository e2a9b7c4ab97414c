package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestManyFindings reports few of the findings about one object, and no error less than there is.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	read := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: i, namespace: a}
spec: {name: x, type: {unique: true}, config: {url: "` + strings.Repeat("${A}", 40000) + `"}}
`)}, manifest.Options{})
	if len(read.Objects) == 0 {
		t.Fatal(read.Diags)
	}
	o := read.Objects[0]
	for warnings, errors := range map[int]int{0: 40000, 40000: 1, manifest.MaxFindings: 0,
		manifest.MaxFindings - 1: 2} {
		var findings diag.List
		for i := range warnings + errors {
			severity := diag.Warning
			if i >= warnings {
				severity = diag.Error
			}
			findings = append(findings, diag.Diagnostic{Severity: severity, Code: diag.EnvReference,
				Path: "spec.config.url", Message: fmt.Sprint(i)})
		}
		var r reports
		r.about(o, findings...)
		if errors > 0 && r.diags[0].Severity != diag.Error || len(r.diags) > manifest.MaxFindings+1 ||
			len(r.diags) < min(warnings+errors, manifest.MaxFindings) {
			t.Errorf("%d warnings and %d errors: %d findings, first %v", warnings, errors, len(r.diags), r.diags[0])
		}
		last := r.diags[len(r.diags)-1]
		if more := warnings+errors > manifest.MaxFindings; more != (last.Message == "further findings are not shown") ||
			last.Line == 0 {
			t.Errorf("%d warnings and %d errors end with %v", warnings, errors, last)
		}
	}
}
