// Package chart checks the Helm charts with Helm's own packages: what they render for a table of
// values, that Kubernetes and the operators that read it understand every field, that they ask for no right and open no
// port that they do not need, and that their documentation, schema, rules and dashboard say what is so.
//
// Golden files, the README's table and the schema's descriptions are rewritten with: go test -update.
package chart

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files, the README's table and the schema's descriptions")

const root = "../.."

// subject is a chart.
type subject struct {
	name string
	// release and namespace are where its documentation installs it.
	release, namespace string
	// least are the values that it cannot do without.
	least string
	// alerts are values with which it has all of its alerts, metrics the beginning of its metrics' names.
	alerts, metrics string
	golden          string
}

func sdAggregator() subject {
	return subject{
		name: "sd-aggregator", release: "sd-aggregator", namespace: "monitoring", metrics: "agentry_sd_",
		alerts: "kubeletService: {enabled: true}\nmetrics: {prometheusRule: {enabled: true}}",
		golden: "testdata/golden",
	}
}

func agentry() subject {
	const least = "admin: {token: {secretName: agentry-admin}}\nexistingConfigMap: pipelines\n"
	return subject{
		name: "agentry", release: "agentry", namespace: "agentry", least: least, metrics: "agentry_",
		alerts: least + "metrics: {prometheusRule: {enabled: true}}", golden: "testdata/golden-agentry",
	}
}

// eachChart runs a test for every chart.
func eachChart(t *testing.T, test func(t *testing.T, s subject)) {
	for _, s := range []subject{sdAggregator(), agentry()} {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

func (s subject) dir() string { return root + "/charts/" + s.name }

// release is where the chart is installed. Its zero value is the default of the documentation.
type release struct {
	name, namespace, kubeVersion string
	isLenient                    bool // as Helm is, to which a value that is not there is nothing
}

func (s subject) load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(s.dir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tryRender renders the chart as helm template does, to the text of each template.
func (s subject) tryRender(t *testing.T, r release, values map[string]any) (map[string]string, error) {
	t.Helper()
	version, err := chartutil.ParseKubeVersion(cmp.Or(r.kubeVersion, "v1.36.0"))
	if err != nil {
		t.Fatal(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	options := chartutil.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}
	if options.Name == "" {
		options.Name, options.Namespace = s.release, s.namespace
	}
	c := s.load(t)
	if !chartutil.IsCompatibleRange(c.Metadata.KubeVersion, caps.KubeVersion.String()) {
		t.Fatalf("the chart is not for Kubernetes %s", caps.KubeVersion.String())
	}
	rendering, err := chartutil.ToRenderValues(c, values, options, caps)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: !r.isLenient}.Render(c, rendering)
}

func (s subject) render(t *testing.T, r release, values map[string]any) map[string]string {
	t.Helper()
	files, err := s.tryRender(t, r, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// manifests is one YAML stream of all objects, by the name of their templates.
func manifests(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(files[name])
		if !strings.HasSuffix(name, ".yaml") || text == "" {
			continue
		}
		b.WriteString("---\n# Source: " + name + "\n" + strings.TrimPrefix(text, "---\n") + "\n")
	}
	return b.String()
}

func (s subject) notes(files map[string]string) string {
	return files[s.name+"/templates/NOTES.txt"]
}

// parse reads values, as a user writes them.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// cases are the values of the chart's ci folder, where chart-testing looks for them as well.
func (s subject) cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob(s.dir() + "/ci/*-values.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	all := map[string]map[string]any{}
	for _, path := range paths {
		all[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = parse(t, read(t, path))
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// golden compares with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; to accept it, run go test -update and read the diff (-file +now):\n%s", path, diff)
	}
}

func TestLint(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		for name, values := range s.cases(t) {
			linter := lint.AllWithKubeVersion(s.dir(), values, s.namespace, nil)
			for _, m := range linter.Messages {
				if m.Severity >= support.InfoSev {
					t.Errorf("%s: %v", name, m)
				}
			}
		}
	})
}

func TestGolden(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		for name, values := range s.cases(t) {
			files := s.render(t, release{}, values)
			// The dashboard is a file of the chart as it stands.
			text := regexp.MustCompile(`(?m)(\.json: \|\n)(    .*\n)+`).ReplaceAllString(manifests(files),
				"${1}    ...\n")
			golden(t, s.golden+"/"+name+".yaml", text)
			golden(t, s.golden+"/"+name+".notes.txt", s.notes(files))
		}
	})
}

func TestNoTrailingSpace(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		for name, values := range s.cases(t) {
			for i, line := range strings.Split(manifests(s.render(t, release{}, values)), "\n") {
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s:%d: trailing space: %q", name, i+1, line)
				}
			}
		}
	})
}
