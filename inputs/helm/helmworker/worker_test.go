package helmworker

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/worker"
	"github.com/agentry-dev/agentry/test/testworker"
)

// testLimits leave a busy machine the time to reach the limits of memory and output.
func testLimits() helm.Limits {
	return helm.Limits{Time: 30 * time.Second, MemoryBytes: 256 << 20, OutputBytes: 256 << 10}
}

// TestCheck renders the small chart with a worker that works, with one that gives another answer, and without one.
func TestCheck(t *testing.T) {
	if err := newTestWorkers(t).Check(t.Context()); err != nil {
		t.Error(err)
	}
	other := helm.NewWorkers(helm.Options{Command: []string{"/bin/sh", "-c", "exit 0"}})
	defer other.Close()
	if err := other.Check(t.Context()); err == nil {
		t.Error("a program that says nothing passes")
	}
	t.Setenv("PATH", t.TempDir())
	missing := helm.NewWorkers(helm.Options{})
	if _, ok := errors.AsType[*worker.Missing](missing.Check(t.Context())); !ok {
		t.Error("a program that is not there passes")
	}
}

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return Serve(in, out, testLimits()) })
}

func newTestWorkers(t *testing.T) *helm.Workers {
	t.Helper()
	return newWorkersWith(t, testLimits())
}

func newWorkersWith(t *testing.T, limits helm.Limits) *helm.Workers {
	t.Helper()
	w := helm.NewWorkers(helm.Options{Command: testworker.Command(), Env: testworker.Env(), Limits: limits})
	t.Cleanup(w.Close)
	return w
}

// chartOf reads a chart from a txtar; Chart.yaml is added if there is none.
func chartOf(text string) []helm.File {
	files := []helm.File{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		files = append(files, helm.File{Name: f.Name, Data: f.Data})
	}
	if !strings.Contains(text, "-- Chart.yaml --") {
		files = append(files, helm.File{Name: "Chart.yaml",
			Data: []byte("apiVersion: v2\nname: shop\nversion: 1.2.3\n")})
	}
	return files
}

const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n"

func TestWhatADocumentDependsOn(t *testing.T) {
	chart := chartOf(`
-- templates/_helpers.tpl --
{{ define "found" }}{{ (lookup "v1" "Secret" "a" "b").data | default "none" }}{{ end }}
-- templates/plain.yaml --
kind: A
name: {{ .Release.Name }}-{{ keys .Values.many | join "," }}
-- templates/random.yaml --
kind: B
password: {{ randAlphaNum 12 }}
---
kind: C
-- templates/time.yaml --
kind: D
day: {{ now | date "2006-01-02" }}
-- templates/default-date.yaml --
kind: E
day: {{ date "2006" .Values.missing }}
-- templates/certificate.yaml --
kind: F
{{ $ca := genCA "ca" 365 }}{{ $cert := genSignedCert "a" nil nil 365 $ca }}
crt: {{ $cert.Cert | b64enc }}
-- templates/lookup.yaml --
kind: G
found: {{ include "found" . }}
-- templates/checksum.yaml --
kind: H
sum: {{ include (print $.Template.BasePath "/lookup.yaml") . | sha256sum }}
-- templates/after.yaml --
kind: I
-- templates/hook.yaml --
kind: J
metadata: {name: x, annotations: {"helm.sh/hook": test}}
-- templates/NOTES.txt --
kind: K
-- crds/crd.yaml --
kind: L
`)
	got, err := newTestWorkers(t).Render(t.Context(),
		helm.Release{Name: "r", Chart: chart, Values: map[string]any{"many": map[string]any{"b": 1, "a": 2, "c": 3}}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, d := range got {
		is := ""
		if d.Random {
			is += "random "
		}
		if d.Lookup {
			is += "lookup "
		}
		kinds[d.Kind] = is + d.Template
		if d.Kind == "A" && !strings.Contains(d.Text, "r-a,b,c") {
			t.Errorf("got %s", d.Text)
		}
	}
	want := map[string]string{
		"A": "templates/plain.yaml", "B": "random templates/random.yaml", "C": "templates/random.yaml",
		"D": "random templates/time.yaml",
		"E": "random templates/default-date.yaml", "F": "random templates/certificate.yaml",
		"G": "lookup templates/lookup.yaml",
		"H": "lookup templates/checksum.yaml", "I": "templates/after.yaml",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNumbersStayWhatTheyAre(t *testing.T) {
	chart := chartOf("-- templates/a.yaml --\nkind: A\nint: {{ .Values.int }}\nfloat: {{ .Values.float }}\n" +
		"gone: {{ .Values.gone | default 1 }}\n-- values.yaml --\ngone: 7\n")
	got, err := newTestWorkers(t).Render(t.Context(),
		helm.Release{Name: "r", Chart: chart,
			Values: map[string]any{"int": int64(2_000_000), "float": float64(2_000_000), "gone": nil}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "kind: A\nint: 2000000\nfloat: 2e+06\ngone: 1\n"; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v", got)
	}
}

func TestChartsThatFailSayWhereAndQuoteNoValue(t *testing.T) {
	const secret = "hunter2-hunter2"
	workers := newTestWorkers(t)
	for name, c := range map[string]struct{ chart, want string }{
		"a field of nothing": {"-- templates/a.yaml --\nkind: A\nx: {{ .Values.no.where }}\n",
			"templates/a.yaml:2: .Values.no is not set"},
		"a misspelt value": {
			"-- values.yaml --\nmonitor: {port: web}\n-- templates/a.yaml --\nkind: A\n" +
				"x: {{ .Values.password }}{{ $.Values.monitr.port }}\n",
			"templates/a.yaml:2: .Values.monitr is not set (did you mean monitor?)"},
		"a value of a subchart": {
			"-- charts/sub/Chart.yaml --\napiVersion: v2\nname: sub\nversion: 1.0.0\n-- charts/sub/values.yaml --\n" +
				"a: {limits: {}}\n-- charts/sub/templates/a.yaml --\nx: {{ .Values.a.limit.cpu }}\n",
			"charts/sub/templates/a.yaml:1: .Values.a.limit is not set (did you mean limits?)"},
		"a field of a loop": {
			"-- templates/a.yaml --\nkind: A\nx: {{ range list .Values }}{{ .no.where }}{{ end }}\n",
			"templates/a.yaml:2: nil pointer evaluating interface {}.where"},
		"a required value": {"-- templates/a.yaml --\nx: {{ required \"an image is needed\" .Values.image }}\n",
			"templates/a.yaml:1: the chart refuses the values: an image is needed"},
		"fail with a value": {"-- templates/a.yaml --\n{{ fail (printf \"bad password %s\" .Values.password) }}\n",
			"templates/a.yaml:1: the template fails; the reason is not shown because it may quote values"},
		"fail with two lines": {
			"-- templates/a.yaml --\n{{ $m := \"the password is too short\" }}{{ printf \"%s\\n%s\" .Values.password " +
				"$m | fail }}\n", "templates/a.yaml:1: the chart refuses the values: the password is too short"},
		"tpl of a value":     {"-- templates/a.yaml --\n{{ tpl (print \"{{ \" .Values.password) . }}\n", ""},
		"range over a value": {"-- templates/a.yaml --\n{{ range .Values.password }}{{ end }}\n", ""},
		"fromYaml of a value": {"-- templates/a.yaml --\n{{ mustToDate \"2006\" .Values.password }}\n",
			"templates/a.yaml:1: error calling mustToDate"},
		"not YAML": {"-- templates/a.yaml --\nkind: [{{ .Values.password }}: {\n",
			"templates/a.yaml: the template's output is not YAML"},
		"not a template": {"-- templates/a.yaml --\nkind: A\n{{ if }}\n", "templates/a.yaml:2: "},
		"an unknown function": {"-- templates/a.yaml --\n\n{{ nothing }}\n",
			`templates/a.yaml:2: function "nothing" not defined`},
		"a template that a value names": {"-- templates/a.yaml --\nx: {{ include .Values.password . }}\n",
			"templates/a.yaml:1: error calling include"},
		"a template that part of a value names": {"-- templates/a.yaml --\nx: {{ template \"a\" }}" +
			"{{ include (printf \"%s.labels\" .Values.password) . }}{{ define \"a\" }}{{ end }}\n",
			"templates/a.yaml:1: error calling include"},
		"a template that the chart names": {"-- templates/a.yaml --\nx: {{ include \"shop.labels\" . }}\n",
			`templates/a.yaml:1: no template "shop.labels" associated with template "gotpl"`},
		"a function that a value names": {"-- templates/a.yaml --\nx: {{ tpl (printf \"{{ %s }}\" " +
			"(replace \"-\" \"_\" .Values.password)) . }}\n", "templates/a.yaml:1: error calling tpl"},
		"a field that a value names": {"-- templates/a.yaml --\nx: {{ tpl (printf \"{{ .Values.password.%s }}\" " +
			"(replace \"-\" \"_\" .Values.password)) . }}\n", "templates/a.yaml:1: error calling tpl"},
		"in a helper": {
			"-- templates/_h.tpl --\n\n{{ define \"h\" }}{{ .Values.no.where }}{{ end }}\n-- templates/a.yaml --\n" +
				"x: {{ include \"h\" . }}\n", "templates/a.yaml:1: .Values.no is not set (in templates/_h.tpl, line 2)"},
		"the schema": {
			"-- values.schema.json --\n{\"properties\": {\"password\": {\"pattern\": \"^[0-9]+$\"}}}\n",
			"values.schema.json: the values violate the chart's schema: values.password (pattern)"},
		"a library": {"-- Chart.yaml --\napiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
			"Chart.yaml:4: a chart of type library cannot be installed"},
		"no Chart.yaml's name": {"-- Chart.yaml --\napiVersion: v2\nversion: 1.0.0\n",
			"Chart.yaml: the chart cannot be loaded: name is required"},
		"a wrong version": {"-- Chart.yaml --\napiVersion: v2\nname: a\nversion: one\n",
			`Chart.yaml:3: the chart cannot be loaded: version "one" is invalid`},
		"a version of the wrong type": {"-- Chart.yaml --\napiVersion: v2\nname: a\nversion: [hunter2]\n",
			"Chart.yaml:3: the chart cannot be loaded: version has a value of the wrong type"},
		"a dependency of the wrong type": {"-- Chart.yaml --\napiVersion: v2\nname: a\ndependencies: [{name: []}]\n",
			"Chart.yaml:3: the chart cannot be loaded: dependencies.name has a value of the wrong type"},
		"an empty dependency": {
			"-- Chart.yaml --\napiVersion: v2\nname: a\nversion: 1.0.0\ndependencies:\n-\n",
			"Chart.yaml:4: the chart cannot be loaded: dependencies must not contain empty or null nodes"},
		"a Chart.yaml that is not YAML": {"-- Chart.yaml --\napiVersion: v2\nname: a\n  version: hunter2\n",
			"Chart.yaml:3: the chart cannot be loaded: Chart.yaml is not valid YAML"},
		"values that are not YAML": {"-- values.yaml --\na: {}\nb: c: hunter2\n",
			"values.yaml:2: the chart cannot be loaded: values.yaml is not valid YAML"},
		"a subchart's version": {"-- charts/sub/Chart.yaml --\nname: sub\nversion: one\n",
			`charts/sub/Chart.yaml:2: the chart cannot be loaded: version "one" is invalid`},
		"another Kubernetes": {"-- Chart.yaml --\napiVersion: v2\nname: a\nversion: 1.0.0\nkubeVersion: '>=1.40'\n",
			"Chart.yaml:4: the chart requires Kubernetes >=1.40, but the cluster's version is v1.35: see cluster.version " +
				"in the pipeline"},
		"a missing dependency": {
			"-- Chart.yaml --\napiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: redis, version: 1.0.0}]\n", "Chart.yaml:4: dependencies are missing in the folder charts: redis"},
	} {
		_, err := workers.Render(t.Context(),
			helm.Release{Name: "r", Chart: chartOf(c.chart), Values: map[string]any{"password": secret}})
		failure, ok := errors.AsType[*helm.Failure](err)
		if !ok || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") ||
			!strings.Contains(c.chart, failure.Template) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	unhurried, hurried := newTestWorkers(t), newWorkersWith(t, helm.Limits{Time: 3 * time.Second})
	for name, c := range map[string]struct{ template, want string }{
		"a loop": {`{{ range $i := until 100000 }}{{ range $j := until 100000 }}{{ end }}{{ end }}`,
			"templates/a.yaml: rendering takes longer than 3s"},
		"one allocation": {`{{ repeat 2000000000 "x" }}`, "templates/a.yaml: rendering needs more than 256 MiB"},
		"many allocations": {`{{ $l := list "x" }}{{ range $i := until 10000 }}{{ $l = concat $l $l }}{{ end }}`,
			"templates/a.yaml: rendering "},
		"endless recursion": {`{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}`, "templates/a.yaml"},
		"include recursion": {`{{ define "r" }}{{ include "r" . }}{{ end }}{{ include "r" . }}`, "templates/a.yaml"},
		"a long output":     {"kind: A\nx: {{ repeat 500000 \"x\" }}", "templates/a.yaml: it renders to more than"},
	} {
		workers := unhurried
		if name == "a loop" {
			workers = hurried
		}
		begun := time.Now()
		_, err := workers.Render(t.Context(),
			helm.Release{Name: "r", Chart: chartOf("-- templates/a.yaml --\n" + c.template + "\n")})
		if _, ok := errors.AsType[*helm.Failure](err); !ok || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
		if docs, err := workers.Render(t.Context(),
			helm.Release{Name: "r", Chart: chartOf("-- templates/a.yaml --\n" + monitor)}); err != nil ||
			len(docs) != 1 {
			t.Errorf("after %s: %v %v", name, docs, err)
		}
	}
}
