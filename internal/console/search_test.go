package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/explainers"
)

// searched is a fleet with something of everything that a search finds.
func searched() *fake {
	r := manifest.Parse(manifest.File{Path: "team/in.yaml", Data: []byte(inputs)}, manifest.Options{})
	render := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	prod, test := good("prod"), good("test-one")
	for _, s := range []*fleet.Status{&prod, &test} {
		s.LastPass = &fleet.PassStatus{}
		s.Output = &gitsync.OutputStatus{Branch: "out", Commit: "abcdef0123"}
	}
	prod.History = meta.History{{Digest: "sha1:feedbeef01", Metadata: map[string]string{
		"originRevision": "main@sha1:c0ffee0001", "originSubject": "Scrape the Checkout"}}}
	prod.Findings.First = diag.List{{Severity: diag.Error, File: "a.yaml", Changed: &diag.Change{Commit: "badbad0001",
		Author: "Ann", Subject: "Retire the Basket"}}}
	gone := good("gone")
	gone.LastPass = &fleet.PassStatus{}
	return &fake{
		pipelines: []fleet.Status{prod, test, gone, {Name: "asleep", Suspended: true}, {Name: "elsewhere"}, good("new"),
			{Name: "template", Owned: true, ForEach: "clusters/*"}},
		renders: map[string]*explain.Render{"prod": &render, "test-one": &render, "gone": nil, "asleep": nil,
			"elsewhere": nil, "new": nil},
	}
}

func TestSearch(t *testing.T) {
	h := searched().handler(t)
	for name, test := range map[string]struct {
		query  string
		status int
		says   []string
		not    string
	}{
		"nothing": {"", 200, []string{"Write words above"}, "Found"},
		"an object": {"q=one/S0", 200, []string{"Found: 4 results",
			`href="/pipelines/prod/explain?object=ServiceMonitor%2Fone%2Fs0"`, "team/in.yaml:11 team=a", "rendered",
			`<h2 id="found-jobs">`, "serviceMonitor/one/s0/0",
			"from ServiceMonitor/one/s0, in MetricsInstance/m/main"}, "found-files"},
		"in one pipeline by a word": {"q=one/s0+prod", 200, []string{"Found: 2 results"}, ">test-one<"},
		"in one pipeline": {"q=one/s0&pipeline=test-one", 200, []string{"Found: 2 results", "in test-one",
			`href="/search?q=one%2Fs0"`, `name="pipeline" value="test-one"`, `aria-label="Pipeline test-one"`}, ">prod<"},
		"a pipeline": {"q=test-one", 200, []string{"found-pipelines", `href="/pipelines/test-one"`, "Ready"},
			"found-objects"},
		"a writer": {"q=x.example", 200, []string{"https://x.example.com/push", "of MetricsInstance/m/main"}, "jobs"},
		"a file": {"q=config.secret.yaml", 200, []string{
			`href="/pipelines/prod/output/m/agent/agent-config.secret.yaml"`, "Secret/m/agent-config"}, "found-jobs"},
		"an output commit": {"q=FEEDBEEF", 200, []string{`href="/pipelines/prod/commits/feedbeef01"`,
			"output branch out"}, "found-objects"},
		"an input commit": {"q=c0ffee", 200, []string{`href="/pipelines/prod/commits/feedbeef01"`, "input org/p"}, "found-objects"},
		"a subject": {"q=scrape+checkout+prod", 200, []string{"Found: 1 result", "c0ffee0 Scrape the Checkout"},
			"found-objects"},
		"the subject of what broke": {"q=basket", 200, []string{"Found: 1 result", "badbad0 Retire the Basket",
			`href="/pipelines/prod#findings"`, "changed a.yaml last"}, "found-objects"},
		"too little of a commit":    {"q=c0f", 200, []string{"Found: 0 results", "Nothing has all of these"}, "c0ffee"},
		"one group":                 {"q=one&in=jobs", 200, []string{"found-jobs", `id="in-jobs" href`}, "found-objects"},
		"a group that is not there": {"q=one&in=x", 200, []string{"found-jobs", "found-objects"}, "in=x"},
		"where nobody looked": {"q=one", 200, []string{"Not searched", `another replica runs them: <a href="/pipelines/elsewhere">`,
			`suspended: <a href="/pipelines/asleep">`, `no pass has ended yet: <a href="/pipelines/new">`,
			`--memory is too small for its names: <a href="/pipelines/gone">`}, "/pipelines/template"},
		"a hostile query": {"q=%3Cscript%3Ealert(1)%3C/script%3E", 200,
			[]string{"Found: 0 results", "&lt;script&gt;alert(1)&lt;/script&gt;"}, "<script>"},
		"a query that is too long": {"q=" + strings.Repeat("x", explainers.MaxQueryBytes+1), 400,
			[]string{"the query has more than"}, "Found"},
		"an unknown pipeline": {"q=one&pipeline=x", 404, []string{"no such pipeline"}, "Found"},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(h, "/search?"+test.query)
			if got.Code != test.status {
				t.Errorf("%d", got.Code)
			}
			holds(t, got.Body.String(), test.says...)
			_, main, _ := strings.Cut(got.Body.String(), "<main")
			if strings.Contains(main, test.not) {
				t.Errorf("says %q: %s", test.not, main)
			}
		})
	}
}

// TestSearchShowsTheFirst: the first results of each group, and the number of the others.
func TestSearchShowsTheFirst(t *testing.T) {
	f := &fake{}
	for i := range maxFoundOfOne + 1 {
		f.pipelines = append(f.pipelines, good(fmt.Sprintf("p%04d", i)))
	}
	f.pipelines = append(f.pipelines, fleet.Status{Name: "x", Owned: true})
	h := f.handler(t)
	for path, want := range map[string][]string{
		"/search?q=p00":              {"90 more. ", `href="/search?in=pipelines&amp;q=p00"`, "Found: 100 results"},
		"/search?q=p0&in=pipelines":  {"1 more: write more words", "Found: 101 results"},
		"/search?q=p0099":            {"Found: 1 result", "and 82 more"},
		"/search?q=ready&pipeline=x": {"Found: 0 results", `no pass has ended yet: <a href="/pipelines/x">`},
	} {
		holds(t, get(h, path).Body.String(), want...)
	}
	text := get(h, "/search?q=p0&in=pipelines").Body.String()
	if n := strings.Count(text, `<th scope="row"`); n != maxFoundOfOne {
		t.Errorf("%d results are shown", n)
	}
}

// BenchmarkSearch looks for words in 1,000 pipelines with 100 objects each, with their jobs and files, and makes the
// page.
func BenchmarkSearch(b *testing.B) {
	f := &fake{indexes: map[string]*explain.Index{}}
	var bytes int64
	for i := range 1000 {
		var parsed []manifest.Result
		add := func(path, format string, args ...any) {
			parsed = append(parsed, manifest.Parse(manifest.File{Path: path, Data: fmt.Appendf(nil, format, args...)},
				manifest.Options{}))
		}
		add("agents.yaml", "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
			"metadata: {name: agent, namespace: monitoring}\nspec: {metrics: {instanceSelector: {}}}\n")
		add("instances.yaml", "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
			"metadata: {name: main, namespace: monitoring}\nspec: {serviceMonitorSelector: {}, "+
			"serviceMonitorNamespaceSelector: {}, remoteWrite: [{url: 'https://mimir.example.com/api/v1/push'}]}\n")
		for n := range 98 {
			add(fmt.Sprintf("teams/team-%d/monitors/service-%d.yaml", n%10, n),
				"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: service-%[1]d, "+
					"namespace: team-%[2]d, labels: {app.kubernetes.io/name: service-%[1]d, team: team-%[2]d}}\n"+
					"spec: {selector: {}, endpoints: [{port: http}]}\n", n, n%10)
		}
		render := generator.Render(manifest.NewSet(parsed...), generator.Options{}, nil).Explained()
		s := good(fmt.Sprintf("region-%d-cluster-%03d", i%10, i))
		s.Conditions, s.LastPass = ready(metav1.ConditionTrue, meta.SucceededReason, "rendered"), &fleet.PassStatus{}
		f.pipelines = append(f.pipelines, s)
		f.indexes[s.Name] = explain.New(render).Index()
		bytes += f.indexes[s.Name].Bytes()
	}
	h := f.handler(b)
	for name, query := range map[string]string{"everything": "service", "one": "service-42+cluster-777",
		"many words": "team-3+service+rendered+monitors", "nothing": "no-such-word"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/search?q="+query, nil))
				if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Not searched") {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(bytes)/1e6, "MB")
		})
	}
}
