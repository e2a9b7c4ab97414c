package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/repobrowser"
)

// fake is a fleet whose state does not change.
type fake struct {
	pipelines []fleet.Status
	defs      []*fleet.Definition
	remotes   []fleet.RemoteStatus
	problems  diag.List
	renders   map[string]*explain.Render
	indexes   map[string]*explain.Index             // of those that are not in renders
	caches    func(string) ([]*object.Reader, bool) // nil: there are none
	delivery  *delivery.Store
}

func (f *fake) Caches(name string) ([]*object.Reader, bool) {
	if f.caches == nil {
		return nil, true
	}
	return f.caches(name)
}

func (f *fake) Explained(_ context.Context, name string) (*explain.Render, bool) {
	r, ok := f.renders[name]
	return r, ok
}

func (f *fake) Index(name string) (*explain.Index, bool) {
	r, ok := f.renders[name]
	if r == nil {
		return f.indexes[name], ok
	}
	return explain.New(*r).Index(), ok
}

func (f *fake) Status() []fleet.Status           { return f.pipelines }
func (f *fake) Definitions() []*fleet.Definition { return f.defs }
func (f *fake) Remotes() []fleet.RemoteStatus    { return f.remotes }
func (f *fake) Problems() diag.List              { return f.problems }
func (f *fake) Pipeline(name string) (fleet.Status, bool) {
	for _, s := range f.pipelines {
		if s.Name == name {
			return s, true
		}
	}
	return fleet.Status{}, false
}

func (f *fake) handler(t testing.TB) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	_, err := Handle(mux, Options{
		Fleet: f, Delivery: f.delivery, Repositories: repobrowser.NewStore(f, slog.New(slog.DiscardHandler)),
		Version: "v1.2.3", Log: slog.New(slog.DiscardHandler), Who: func(*http.Request) Person {
			return Person{MayAct: true}
		},
		Explained: explainers.NewStore(f),
	})
	if err != nil {
		t.Fatal(err)
	}
	return mux
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message}}
}

func good(name string) fleet.Status {
	return fleet.Status{
		Name: name, Owned: true, Conditions: ready(metav1.ConditionTrue, meta.SucceededReason, "rendered"),
		Sources: []gitsync.SourceStatus{{URL: "https://github.com/org/" + name[:1], Ref: "branch main",
			Commit: "0123456789"}},
	}
}

// hostile is a text that somebody may write into a name or a message.
const hostile = "<script>alert(\"x\")</script>\x1b[31m\a\u202e\u2028"

// troubled returns a state with everything that pages show.
func troubled() fleet.Status {
	ago := metav1.NewTime(time.Now().Add(-time.Minute))
	soon := metav1.NewTime(time.Now().Add(time.Hour))
	why := diag.Diagnostic{Severity: "error", Message: hostile, Hint: "write it right", File: "team/monitor.yaml",
		Line: 7, Column: 3, Object: diag.Object{Kind: "ServiceMonitor", Namespace: "shop", Name: "cart"},
		Owners: []string{"@shop", "@all"},
		Changed: &diag.Change{Commit: "3333333333", Date: time.Now().Add(-2 * time.Hour),
			Author: "Ann <script> <ann@example.com>", Subject: hostile}}
	return fleet.Status{
		Name: "prod", Origin: "fleet.yaml:3", Owned: true, Failures: 2,
		LastPass: &fleet.PassStatus{Began: ago, Trigger: "poll", Error: hostile}, NextPass: &soon,
		Conditions: append(ready(metav1.ConditionFalse, meta.BuildFailedReason, hostile),
			metav1.Condition{Type: meta.StalledCondition, Status: metav1.ConditionTrue, Message: "protected"}),
		Sources: []gitsync.SourceStatus{{URL: "https://github.com/org/a", Ref: "branch main", Commit: "0123456789",
			Stale: true}},
		Output: &gitsync.OutputStatus{URL: "https://github.com/org/a", Branch: "environments/prod", Path: "x",
			Commit: "abcdef0123"},
		Units: []fleet.UnitStatus{
			{UnitStatus: gitsync.UnitStatus{Name: "shop/agent", State: "held", Reason: "it is wrong"}},
			{UnitStatus: gitsync.UnitStatus{Name: "shop/good", State: "unchanged"}}},
		Held: []plan.HeldObject{{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "shop", Name: "cart"},
			Units: []string{"shop/agent"}, State: plan.UnitHeld, As: branch.CommitRef{Commit: "1111111111"},
			Since: branch.CommitRef{Commit: "2222222222"}, Waiting: []string{"spec.endpoints"}, Reason: why}},
		Findings: gitsync.Findings{Errors: 2, First: diag.List{why}},
	}
}

func definition(name string) *fleet.Definition {
	d := &fleet.Definition{}
	d.Metadata.Name = name
	d.Spec.Sources = []pipeline.Source{{URL: "https://github.com/org/a"}}
	d.Spec.Output.URL = "https://github.com/org/a"
	return d
}

func holds(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not hold %q", w)
		}
	}
	if strings.Contains(text, "<script>") {
		t.Error("what somebody wrote into a message is code on the page")
	}
	if strings.ContainsAny(text, "\x1b\a\r\u202e\u2028") {
		t.Error("what somebody wrote into a message steers the reader's program")
	}
}

var named = regexp.MustCompile(`<tr id="p-([^"]+)">`)

// names returns the names of the rows, in their order.
func names(text string) string {
	var out []string
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return strings.Join(out, " ")
}

func TestTheListFindsFiltersAndSorts(t *testing.T) {
	failing := good("bravo")
	failing.Conditions, failing.Findings.Errors = ready(metav1.ConditionFalse, meta.BuildFailedReason, "unknown field"),
		3
	waiting := good("delta")
	waiting.Conditions = ready(metav1.ConditionFalse, meta.DependencyNotReadyReason, "waits for alpha")
	h := (&fake{
		pipelines: []fleet.Status{good("zulu"), good("alpha"), failing, waiting, troubled(),
			{Name: "asleep", Suspended: true}, {Name: "elsewhere"}},
		defs: []*fleet.Definition{definition("prod")},
	}).handler(t)
	for path, want := range map[string]string{
		"/":                               "prod bravo delta asleep elsewhere alpha zulu",
		"/?sort=name":                     "alpha asleep bravo delta elsewhere prod zulu",
		"/?sort=findings":                 "bravo prod alpha asleep delta elsewhere zulu",
		"/?sort=held":                     "prod alpha asleep bravo delta elsewhere zulu",
		"/?sort=pass":                     "prod alpha asleep bravo delta elsewhere zulu",
		"/?sort=nonsense":                 "prod bravo delta asleep elsewhere alpha zulu",
		"/?state=failing":                 "bravo",
		"/?state=ready":                   "alpha zulu",
		"/?state=nonsense&q=zulu":         "zulu",
		"/?q=UNKNOWN+org/b":               "bravo",
		"/?q=abcdef0":                     "prod",
		"/?q=ann@example.com":             "prod",
		"/?q=@all":                        "prod",
		"/?q=ready&state=ready":           "alpha zulu",
		"/?q=nothing+has+this":            "",
		"/?group=repository&sort=name":    "asleep elsewhere alpha prod bravo delta zulu",
		"/?page=7":                        "prod bravo delta asleep elsewhere alpha zulu",
		"/?q=" + strings.Repeat("x", 9e3): "",
	} {
		if diff := cmp.Diff(want, names(get(h, path).Body.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	text := get(h, "/").Body.String()
	holds(t, text, "2 of 7 pipelines not ready", `href="/pipelines/prod#findings"`, "2 errors",
		"2 held",
		"https://github.com/org/a/commit/0123456789", "https://github.com/org/a/commit/abcdef0123", "protected",
		"waits for alpha", "1 min ago",
		`href="/?state=stalled"`, `aria-sort="ascending"><a href="/">State`)
	holds(t, get(h, "/?q=alpha&sort=name").Body.String(), `value="alpha"`, `name="sort" value="name"`,
		`href="/?q=alpha&amp;sort=name&amp;state=ready"`)
}

func TestAPageHasAThousandPipelines(t *testing.T) {
	f := &fake{}
	for i := range maxRows + 1 {
		f.pipelines = append(f.pipelines, good(fmt.Sprintf("p%04d", i)))
	}
	f.pipelines[maxRows].Conditions = ready(metav1.ConditionFalse, meta.BuildFailedReason, "")
	h := f.handler(t)
	first, second := get(h, "/").Body.String(), get(h, "/?page=2").Body.String()
	if n := strings.Count(first, "<tr id="); n != maxRows || !strings.HasPrefix(names(first), "p1000 p0000 ") ||
		names(second) != "p0999" {
		t.Errorf("%d rows, then %s", n, names(second))
	}
	holds(t, first, "Page 1 of 2, 1001 pipelines", `href="/?page=2" rel="next"`)
	holds(t, second, `href="/" rel="prev"`)
}

func TestThePageOfAPipeline(t *testing.T) {
	f := &fake{pipelines: []fleet.Status{good("fine"), troubled()},
		defs: []*fleet.Definition{definition("fine"), definition("prod")}}
	h := f.handler(t)
	text := get(h, "/pipelines/prod").Body.String()
	holds(t, text, "Stalled", "protected", "fleet.yaml:3", "team/monitor.yaml:7:3",
		"https://github.com/org/a/blob/0123456789/team/monitor.yaml#L7",
		"as of <code>1111111</code> in shop/agent, since <code>2222222</code>",
		"spec.endpoints", "the whole unit is held", "it is wrong", "cannot be reached", "1 min ago", "in 59 min",
		"2 failed in a row", "write it right",
		"1 more: agentry check", `href="/pipelines/prod/explain?object=ServiceMonitor%2Fshop%2Fcart"`,
		`action="/pipelines/prod/pass"`, "/api/v1/pipelines/prod",
		`Changed last by <a href="/?q=Ann">Ann</a>`, "https://github.com/org/a/commit/3333333333",
		`<a href="/?q=%40shop">@shop</a>, <a href="/?q=%40all">@all</a>`)
	if strings.Contains(text, "shop/good") {
		t.Error("a unit that is not held is shown as held")
	}
	if fine := get(h, "/pipelines/fine").Body.String(); strings.Contains(fine, `id="held"`) ||
		!strings.Contains(fine, "There was no pass yet") {
		t.Errorf("a pipeline that is fine: %s", fine)
	}
	if got := get(h, "/pipelines/x"); got.Code != 404 || !strings.Contains(got.Body.String(), "no such pipeline") {
		t.Errorf("an unknown pipeline: %d", got.Code)
	}
	f.pipelines[1].Held = make([]plan.HeldObject, maxHeld+1)
	holds(t, get(h, "/pipelines/prod").Body.String(), "1 more held objects: see the JSON.")
}

// TestAnErrorStandsOnce on the page of a pipeline, with its object, what is rendered instead, and what to do.
func TestAnErrorStandsOnce(t *testing.T) {
	why := diag.Diagnostic{Severity: diag.Error, Code: diag.UnknownField, Path: "spec.endpoint",
		Message: "unknown field", Hint: "did you mean `endpoints`?", File: "a.yaml", Line: 7,
		Object: diag.Object{Kind: "ServiceMonitor", Namespace: "shop", Name: "cart"}}
	s := good("prod")
	s.Conditions = ready(metav1.ConditionFalse, meta.BuildFailedReason,
		"12 objects are held at their last good version; first: "+why.Sentence())
	s.LastPass = &fleet.PassStatus{Began: metav1.NewTime(time.Now().Add(-time.Hour)), Trigger: fleet.ReasonAPI,
		Took: metav1.Duration{Duration: 812 * time.Millisecond}}
	s.Findings = gitsync.Findings{Errors: 1, First: diag.List{why}}
	for i := range maxHeldByOne + 2 {
		s.Held = append(s.Held, plan.HeldObject{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "shop",
			Name: fmt.Sprint("cart", i)}, Units: []string{"shop/agent"}, State: plan.UnitLeftOut, Reason: why})
	}
	h := (&fake{pipelines: []fleet.Status{s}}).handler(t)
	text := get(h, "/pipelines/prod").Body.String()
	holds(t, text, "12 objects are held at their last good version. ", "spec.endpoint: unknown field",
		"ServiceMonitor/shop/cart9</a> is left out in shop/agent", "and 2 more objects", `href="/codes/unknown-field"`,
		"1 h ago</time>, because somebody asked for it; it took 812 ms", ` UTC">1 h ago`)
	if n := strings.Count(text, "unknown field"); n != 1 || strings.Contains(text, `id="held"`) {
		t.Errorf("the error stands %d times: %s", n, text)
	}
	holds(t, get(h, "/").Body.String(), "ServiceMonitor/shop/cart: spec.endpoint: unknown field; did you mean")
}

func TestCodes(t *testing.T) {
	h := (&fake{}).handler(t)
	for _, info := range diag.Codes() {
		got := get(h, "/codes/"+string(info.Code))
		if got.Code != http.StatusOK || strings.Contains(got.Body.String(), "`") {
			t.Errorf("%s: %d, or a mark of the manual is on the page", info.Code, got.Code)
		}
	}
	holds(t, get(h, "/codes/symlink-refused").Body.String(), "<code>symlink-refused</code>", "error",
		"It is not followed.")
	if got := get(h, "/codes/nonsense"); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
	if got := get(h, "/icon.svg"); got.Header().Get("Content-Type") != "image/svg+xml" || got.Code != http.StatusOK {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

// TestAPageThatIsThereAlreadyIsNotSentAgain, because browsers ask every few seconds.
func TestAPageThatIsThereAlreadyIsNotSentAgain(t *testing.T) {
	f := &fake{pipelines: []fleet.Status{troubled()}}
	h := f.handler(t)
	first := get(h, "/")
	tag := first.Header().Get("ETag")
	if again := get(h, "/", "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("%d with %d bytes", again.Code, again.Body.Len())
	}
	f.pipelines[0].Name = "other"
	if again := get(h, "/", "If-None-Match", tag); again.Code != http.StatusOK {
		t.Errorf("%d for another page", again.Code)
	}
	for name, want := range map[string]string{"Referrer-Policy": "same-origin", "Content-Security-Policy": policy} {
		if got := first.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRemotesAndProblems(t *testing.T) {
	h := (&fake{
		remotes:  []fleet.RemoteStatus{{URL: "https://git.example.com/a", Failures: 3, Error: "refused " + hostile}},
		problems: diag.List{{Severity: diag.Error, File: "bad.yaml", Line: 9, Message: "unknown field " + hostile}},
	}).handler(t)
	holds(t, get(h, "/remotes").Body.String(), "1 cannot be reached", "refused", "3 times", "never",
		`href="/?q=https%3a%2f%2fgit.example.com%2fa"`)
	holds(t, get(h, "/").Body.String(), "1 problem in the configuration", "bad.yaml:9", "There is no pipeline yet")
}

const inputs = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m}
spec: {serviceMonitorSelector: {matchLabels: {team: a}}, serviceMonitorNamespaceSelector: {}, remoteWrite: [{url: "https://x.example.com/push"}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: s0, namespace: one, labels: {team: a}}
spec: {selector: {}, endpoints: [{port: web}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: s1, namespace: one, labels: {team: b}}
spec: {selector: {}, endpoints: [{port: web}]}
`

// TestAHeldObjectSaysSinceWhen: the page of an object has what the pipeline's page says of it: as of when it is
// rendered, since when it is held, and who changed it last. So has one that is left out.
func TestAHeldObjectSaysSinceWhen(t *testing.T) {
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(inputs)}, manifest.Options{})
	render := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	why := diag.Diagnostic{Severity: diag.Error, Message: "no duration", File: "in.yaml", Line: 13,
		Object: diag.Object{Kind: "ServiceMonitor", Namespace: "one", Name: "s1"},
		Owners: []string{"@shop"}, Changed: &diag.Change{Commit: "3333333333", Date: time.Now().Add(-2 * time.Hour),
			Author: "Ann <ann@example.com>", Subject: "Scrape faster"}}
	s := good("a")
	s.Held = []plan.HeldObject{{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "one", Name: "s0"},
		Units: []string{"m/agent"}, State: plan.UnitHeld, As: branch.CommitRef{Commit: "1111111111"},
		Since: branch.CommitRef{Commit: "2222222222"}, Reason: why}}
	s.Findings = gitsync.Findings{Errors: 1, First: diag.List{why}}
	h := (&fake{pipelines: []fleet.Status{s}, defs: []*fleet.Definition{definition("a")},
		renders: map[string]*explain.Render{"a": &render}}).handler(t)
	changed := []string{`Changed last by <a href="/?q=Ann">Ann</a>`, "2 h ago", "3333333</a> Scrape faster", "Owner: "}
	page := get(h, "/pipelines/a/explain?object=ServiceMonitor/one/s0").Body.String()
	holds(t, page, append(changed, "It is rendered as of <code>1111111</code> in m/agent, since "+
		"<code>2222222</code>")...)
	holds(t, get(h, "/pipelines/a/explain?object=ServiceMonitor/one/s1").Body.String(), changed...)
	page = get(h, "/pipelines/a/explain?object=MetricsInstance/m/main").Body.String()
	if strings.Contains(page, "Changed last") {
		t.Errorf("an object without an error says who broke it: %s", page)
	}
}

// TestAUnitThatIsLeftOutStandsOnce: an error that stands among the findings names the unit that it leaves out.
func TestAUnitThatIsLeftOutStandsOnce(t *testing.T) {
	why := diag.Diagnostic{Severity: diag.Error, Path: "spec.logLevel", Message: "is none", File: "a.yaml", Line: 7,
		Object: diag.Object{Kind: "GrafanaAgent", Namespace: "m", Name: "agent"}, Units: []string{"m/agent"}}
	s := good("prod")
	s.Findings = gitsync.Findings{Errors: 1, First: diag.List{why}}
	s.Units = []fleet.UnitStatus{
		{UnitStatus: gitsync.UnitStatus{Name: "m/agent", State: plan.UnitLeftOut,
			Reason: "a.yaml:7: spec.logLevel: is none", Error: why}},
		{UnitStatus: gitsync.UnitStatus{Name: "m/other", State: plan.UnitHeld, Reason: "another error"}}}
	text := get((&fake{pipelines: []fleet.Status{s}}).handler(t), "/pipelines/prod").Body.String()
	holds(t, text, "The whole unit m/agent is left out", "Also held", "another error")
	if n := strings.Count(text, "is none"); n != 1 {
		t.Errorf("the error stands %d times: %s", n, text)
	}
}

// TestTheHierarchy follows links from the GrafanaAgents down to a job.
func TestTheHierarchy(t *testing.T) {
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(inputs)}, manifest.Options{})
	render := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	h := (&fake{pipelines: []fleet.Status{good("a"), good("evicted")},
		renders: map[string]*explain.Render{"a": &render, "evicted": nil}}).handler(t)
	for name, test := range map[string]struct {
		path   string
		status int
		says   []string
	}{
		"the top": {"a/hierarchy", 200,
			[]string{"GrafanaAgents", `href="/pipelines/a/explain?object=GrafanaAgent%2Fm%2Fagent"`,
				"<figcaption>1 GrafanaAgent, 1 MetricsInstance, 2 ServiceMonitors: 1 not selected</figcaption>"}},
		"an agent": {"a/explain?object=GrafanaAgent/m/agent", 200,
			[]string{`href="/pipelines/a/explain?object=MetricsInstance%2Fm%2Fmain"`, "1 job"}},
		"an instance": {"a/explain?object=MetricsInstance/m/main", 200,
			[]string{`href="/pipelines/a/explain?object=ServiceMonitor%2Fone%2Fs0"`}},
		"a monitor": {"a/explain?object=ServiceMonitor/one/s0", 200,
			[]string{"serviceMonitor/one/s0/0", "in.yaml:14", "agent-config.secret.yaml:"}},
		"a miss": {"a/explain?object=ServiceMonitor/one/s1", 200,
			[]string{"one label away", "set label team=a on ServiceMonitor/one/s1"}},
		"no object":   {"a/explain?object=ServiceMonitor/one/s9", 404, []string{"did you mean"}},
		"no pipeline": {"x/hierarchy", 404, []string{"no such pipeline"}},
		"not kept":    {"evicted/hierarchy", 503, []string{"agentry trigger evicted"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(h, "/pipelines/"+test.path)
			if got.Code != test.status {
				t.Errorf("%d", got.Code)
			}
			holds(t, got.Body.String(), test.says...)
		})
	}
}

// TestTheWayOfAJob: each part is a box, in its order. A box that somebody wrote leads to the file, a rule that can drop
// something looks different, and the way divides before several writers.
func TestTheWayOfAJob(t *testing.T) {
	text := strings.NewReplacer(`{selector: {}, endpoints: [{port: web}]}`,
		`{selector: {}, endpoints: [{port: web, metricRelabelings: [{action: drop, sourceLabels: [a], regex: "`+
			strings.Repeat("<script>|", longText)+`"}]}]}`,
		`/push"}`, `/push"}, {url: "https://y.example.com/push", writeRelabelConfigs: [{targetLabel: to, replacement: other}]}`).
		Replace(inputs)
	parsed := manifest.NewSet(manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{}))
	for _, r := range generator.Runtimes() {
		render := generator.Render(parsed, generator.Options{Runtimes: runtimes.Choice{Default: r}}, nil).Explained()
		h := (&fake{pipelines: []fleet.Status{good("a")}, defs: []*fleet.Definition{definition("a")},
			renders: map[string]*explain.Render{"a": &render}}).handler(t)
		page := get(h, "/pipelines/a/explain?object=ServiceMonitor/one/s0").Body.String()
		const file = `<a href="https://github.com/org/a/blob/0123456789/in.yaml#L`
		way := []string{`<li><div><div><b>discovery</b> kubernetes, role endpoints, namespace one<br>`,
			file + `14">in.yaml:14</a>`,
			`<li class="filter"><div><div><b>targets</b> keep targets where __meta_kubernetes_endpoint_port_name is web<br>`,
			`<b>targets</b> set namespace to the value of __meta_kubernetes_namespace</div>`,
			`<b>scrape</b> http, path /metrics, every 1m<br>`,
			`<li class="filter long"><div><div><b>series</b> drop series where a is &lt;script&gt;|`,
			`<ul class="branches">`, `<b>writer</b> https://x.example.com/push<br>`, file + `9">in.yaml:9</a>`,
			`<b>series</b> set to to other<br>`, `<b>writer</b> https://y.example.com/push<br>`}
		holds(t, page, way...)
		for at := 0; len(way) > 0; way = way[1:] {
			next := strings.Index(page[at:], way[0])
			if next < 0 {
				t.Fatalf("%s: %s is not in its place:\n%s", r.Name, way[0], page)
			}
			at += next
		}
		if page := get(h, "/pipelines/a/explain?object=MetricsInstance/m/main").Body.String(); strings.Count(page,
			`<ol class="way">`) != 2 || strings.Contains(page, "Shapes") {
			t.Errorf("%s: the page of an instance shows not only its writers:\n%s", r.Name, page)
		}
	}
}
