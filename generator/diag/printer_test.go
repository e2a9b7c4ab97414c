package diag

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// report has a diagnostic of every shape, and inputs that try to break the formats.
func report() List {
	monitor := Object{APIVersion: "monitoring.coreos.com/v1", Kind: "ServiceMonitor", Namespace: "team-a", Name: "api"}
	return List{
		{
			Severity: Warning, Code: "unknown-field", Message: "spec.endpoints[0].intreval: unknown field",
			Hint: "did you mean interval?", File: "api.yaml", Line: 4, Column: 5, Object: monitor,
			Units:   []string{"monitoring/agent"},
			Related: []Object{{APIVersion: "v1", Kind: "Secret", Namespace: "team-a", Name: "login"}},
		},
		{Severity: Error, Code: "tab-before", Message: "caret below a tab", File: "api.yaml", Line: 5, Column: 2,
			Object: monitor},
		{Severity: Error, Code: "no-column", Message: "a whole line", File: "api.yaml", Line: 1, Object: monitor},
		{Severity: Error, Code: "line-gone", Message: "past the end", File: "api.yaml", Line: 99, Column: 1,
			Object: monitor},
		{
			Severity: Error, Code: "secret-line", Message: "no byte of a Secret is quoted", File: "secret.yaml",
			Line: 3, Column: 3,
			Object: Object{APIVersion: "v1", Kind: "Secret", Namespace: "team-a", Name: "login"},
		},
		{Severity: Error, Code: "secret-near", Message: "nor of a text that may hold one", File: "secret.yaml", Line: 3,
			Column: 3},
		{Severity: Error, Code: "secret-inline", Message: "nor of a line that does", File: "list.json", Line: 1,
			Column: 3, Object: monitor},
		{Severity: Info, Code: "no-place", Message: "first line\nsecond line", Source: "https://git.example.com/a.git"},
		{Severity: Error, Code: "of-a-base", Message: "built twice", File: "base.yaml", Line: 2, Column: 1,
			BuiltBy: "prod/kustomization.yaml"},
		{Severity: Error, Code: "of-a-base", Message: "built twice", File: "base.yaml", Line: 2, Column: 1,
			BuiltBy: "test/kustomization.yaml"},
		{Severity: Error, Code: "of-a-base", Message: "built twice", File: "base.yaml", Line: 2, Column: 1,
			BuiltBy: "dev/kustomization.yaml"},
		{Severity: Error, Code: "hostile", Message: "100%: a\r\n::error::forged \x1b[31m<b>", File: "dir,a:b%\n.yaml",
			Line: 2, Column: 1},
	}
}

func inputs(_, file string) []byte {
	return []byte(map[string]string{
		"api.yaml": "{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor}\r\nspec:\n  endpoints:\n" +
			"  - intreval: 30s\n\tregex: \x1b[31mred\n",
		"secret.yaml": "kind: Secret\nstringData:\n  password: hunter2\n",
		"list.json":   `{"kind":"List","items":[{"kind":"Secret","data":{"password":"hunter2"}}]}`,
	}[file])
}

func TestPrinters(t *testing.T) {
	for name, printer := range map[string]Printer{
		"text":   Text{Input: inputs},
		"plain":  Text{},
		"color":  Text{Input: inputs, Color: true},
		"json":   JSON{},
		"github": GitHub{},
		"sarif":  SARIF{},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := printer.Print(&b, report()); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "hunter2") {
				t.Error("a byte of a Secret was printed")
			}
			golden(t, filepath.Join("testdata", name+".golden"), b.String())
		})
	}
}

// TestTextOfManyProblems has the worst of them in their order, and counts the others.
func TestTextOfManyProblems(t *testing.T) {
	var list List
	for i := range 3 * maxPrinted {
		d := Diagnostic{Severity: Warning, Code: "w", File: fmt.Sprintf("%06d.yaml", i), Message: "may be wrong"}
		if i%4 == 1 {
			d.Severity, d.Code, d.Message = Error, "e", "is wrong"
		}
		list.Add(d)
	}
	var b strings.Builder
	if err := (Text{}).Print(&b, list); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; last != "and 2000 more: --format json lists all" {
		t.Error(last)
	}
	if lines = lines[:len(lines)-1]; len(lines) != maxPrinted || !slices.IsSorted(lines) {
		t.Errorf("%d lines, sorted: %v", len(lines), slices.IsSorted(lines))
	}
	if n := strings.Count(b.String(), "error[e]"); n != 3*maxPrinted/4 {
		t.Errorf("%d errors", n)
	}
}

func TestGitHubCommandsCannotBeForged(t *testing.T) {
	var b strings.Builder
	if err := (GitHub{}).Print(&b, report()); err != nil {
		t.Fatal(err)
	}
	const repeated = 2 // of one base, by other kustomizations
	if got := strings.Count(b.String(), "\n"); got != len(report())-repeated {
		t.Errorf("%d lines for %d diagnostics", got, len(report()))
	}
}

func TestJSONOfNothingIsAnEmptyArray(t *testing.T) {
	var b strings.Builder
	if err := (JSON{}).Print(&b, nil); err != nil {
		t.Fatal(err)
	}
	if b.String() != "[]\n" {
		t.Errorf("got %q", b.String())
	}
}

func TestJSONHasEveryKey(t *testing.T) {
	var b strings.Builder
	if err := (JSON{}).Print(&b, List{{}}); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("severity code message hint file line column object source units") {
		if _, ok := got[0][key]; !ok {
			t.Errorf("key %q is missing", key)
		}
	}
}
