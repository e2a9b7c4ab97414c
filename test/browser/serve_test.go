package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/server"
)

// standing is a fleet that stands still.
type standing struct {
	pipelines []fleet.Status
	remotes   []fleet.RemoteStatus
	problems  diag.List
	caches    func(string) ([]*object.Reader, bool) // nil: there are none
}

// Caches implements the fleet.
func (s standing) Caches(name string) ([]*object.Reader, bool) {
	if s.caches == nil {
		return nil, true
	}
	return s.caches(name)
}

func (s standing) Status() []fleet.Status        { return s.pipelines }
func (s standing) Remotes() []fleet.RemoteStatus { return s.remotes }
func (s standing) Problems() diag.List           { return s.problems }

// Definitions name GitHub as the forge of all repositories.
func (s standing) Definitions() (out []*fleet.Definition) {
	for _, p := range s.pipelines {
		d := &fleet.Definition{}
		d.Metadata.Name = p.Name
		for range p.Sources {
			d.Spec.Sources = append(d.Spec.Sources, pipeline.Source{URL: "https://github.com/platform/monitoring"})
		}
		d.Spec.Output.URL = "https://github.com/platform/rendered"
		out = append(out, d)
	}
	return out
}

// Explained returns the same render for each pipeline of this replica.
func (s standing) Explained(_ context.Context, name string) (*explain.Render, bool) {
	p, ok := s.Pipeline(name)
	if !p.Owned {
		return nil, ok
	}
	return rendered(), ok
}

// Index returns the names of that render.
func (s standing) Index(name string) (*explain.Index, bool) {
	return indexOf(s.Explained(context.Background(), name))
}

func indexOf(render *explain.Render, ok bool) (*explain.Index, bool) {
	if render == nil {
		return nil, ok
	}
	return explain.New(*render).Index(), ok
}

// rendered is a small hierarchy, with a monitor that is missed and one whose names are hostile.
func rendered() *explain.Render {
	texts := `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: grafana-agent, namespace: monitoring}
spec: {metrics: {instanceSelector: {matchLabels: {agent: grafana-agent}}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary, namespace: monitoring, labels: {agent: grafana-agent}}
spec:
  serviceMonitorSelector: {matchLabels: {team: shop}}
  serviceMonitorNamespaceSelector: {matchLabels: {monitoring: enabled}}
  remoteWrite: [{url: "https://mimir.example.com/api/v1/push", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: team-shop, labels: {monitoring: enabled}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: team-shop, labels: {team: shop}}
spec:
  selector: {matchLabels: {app: checkout}}
  endpoints: [{port: http, metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: "<img src=x onerror=alert(1)>"}]}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: search, namespace: team-search, labels: {team: search}}
spec: {selector: {}, endpoints: [{port: http}]}
`
	r := manifest.Parse(manifest.File{Path: "teams/" + long() + "/monitors.yaml", Data: []byte(texts)},
		manifest.Options{})
	out := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	return &out
}

func (s standing) Pipeline(name string) (fleet.Status, bool) {
	for _, p := range s.pipelines {
		if p.Name == name {
			return p, true
		}
	}
	return fleet.Status{}, false
}

func moment(d time.Duration) *metav1.Time {
	out := metav1.NewTime(time.Now().Add(d))
	return &out
}

// running is a pipeline that is fine, but for the changes.
func running(name string, changes ...func(*fleet.Status)) fleet.Status {
	s := fleet.Status{
		Name: name, Origin: "/etc/agentry/pipelines/" + name + ".yaml:1", Owned: true,
		Conditions: []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason,
			"rendered 12 units from main@sha1:2f1e0d3")},
		Sources: []gitsync.SourceStatus{{URL: "https://git.example.com/platform/monitoring", Ref: "branch main",
			Commit: "2f1e0d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"}},
		Output: &gitsync.OutputStatus{URL: "https://git.example.com/platform/rendered",
			Branch: "environments/" + name, Path: ".", Commit: "9c8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e2d1c0b"},
		LastPass: &fleet.PassStatus{Began: *moment(-3 * time.Minute),
			Took: metav1.Duration{Duration: 812 * time.Millisecond}, Trigger: "webhook"},
		NextPass: moment(52 * time.Second),
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// finding is a diagnostic with everything that one may have.
func finding(message string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: "error", Code: "invalid-setting", Message: message, Hint: "write it right, as docs/input.md says",
		File: "teams/checkout/" + long()[:60] + "/servicemonitor.yaml", Line: 17, Column: 9,
		Object: diag.Object{Kind: "ServiceMonitor", Namespace: "checkout", Name: "cart"},
		Owners: []string{"@checkout/on-call", long()[:80]},
		Changed: &diag.Change{Commit: "4444444444", Date: time.Now().Add(-26 * time.Hour),
			Author: long()[:90] + " <jo@example.com>", Subject: hostile},
	}
}

// unready is a fleet with all that the page can show.
func unready() standing {
	broken := running("prod-eu", func(s *fleet.Status) {
		s.Conditions = []metav1.Condition{
			condition(meta.ReadyCondition, metav1.ConditionFalse, meta.BuildFailedReason, hostile),
			condition(meta.StalledCondition, metav1.ConditionTrue, meta.BuildFailedReason,
				"the branch environments/prod-eu is protected: allow the push, or set output.propose"),
		}
		s.Failures, s.LastPass.Error = 41, "push to https://git.example.com/platform/rendered: "+long()
		s.Sources = append(s.Sources, gitsync.SourceStatus{URL: "ssh://git@git.example.com/" + long(), Ref: "tag v*",
			Commit: "0123456789", Stale: true})
		s.Units = []fleet.UnitStatus{
			{UnitStatus: gitsync.UnitStatus{Name: "checkout/agent", State: "held", Reason: "spec.image: " + hostile}},
			{UnitStatus: gitsync.UnitStatus{Name: "checkout/fine", State: "unchanged"}}}
		s.Held = []plan.HeldObject{
			{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "checkout", Name: "cart"},
				Units: []string{"checkout/agent", "ops/agent"}, State: "held",
				As: branch.CommitRef{Commit: "1111111111"}, Since: branch.CommitRef{Commit: "2222222222"},
				Waiting: []string{"spec.endpoints[0].interval", "spec.selector"}, Reason: finding(hostile)},
			{ID: manifest.ID{Kind: "PodMonitor", Namespace: long()[:63], Name: long()[:63]}, State: "leftout",
				Since: branch.CommitRef{Commit: "3333333333"}, Reason: finding(long())},
		}
		s.Findings = gitsync.Findings{Errors: 2, Warnings: 1,
			First: diag.List{finding(hostile), finding("spec.endpoints[0].interval: \"1 minute\" is no duration"),
				{Severity: "warning", Code: "x", Message: "a warning that names no place"}}}
	})
	untried := running("staging", func(s *fleet.Status) {
		s.Conditions = []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionUnknown,
			meta.ProgressingReason, "waits for its first pass")}
		s.Sources, s.Output, s.LastPass, s.NextPass = nil, nil, nil, nil
	})
	return standing{
		pipelines: []fleet.Status{
			running("prod-us"), broken, untried,
			running("asleep", func(s *fleet.Status) { s.Suspended, s.NextPass = true, nil }),
			{Name: "another-replicas"},
			running("clusters", func(s *fleet.Status) {
				s.ForEach, s.Pipelines, s.Output = "clusters/*", []string{"prod-us", "prod-eu"}, nil
			}),
			running(`<img src=x onerror=alert(3)>`, func(s *fleet.Status) {
				s.Output.Path, s.Origin = hostile, hostile
			}),
		},
		remotes: []fleet.RemoteStatus{
			{URL: "https://git.example.com/platform/monitoring", Pipelines: 4, Refs: 3,
				LastRound: moment(-8 * time.Second), Took: metav1.Duration{Duration: 93 * time.Millisecond},
				NextRound: moment(52 * time.Second)},
			{URL: "ssh://git@git.example.com/" + long(), Pipelines: 1, Refs: 1, Failures: 12,
				NextRound: moment(4 * time.Minute),
				Error:     "cannot be reached: dial tcp: lookup git.example.com: no such host; " + hostile},
		},
		problems: diag.List{{Severity: diag.Error, Code: diag.PipelineInvalid,
			File: "/etc/agentry/pipelines/broken.yaml", Line: 9, Message: "unknown field " + hostile,
			Hint: "see docs/pipeline.md"}},
	}
}

// many is a fleet of n pipelines, of which some are in trouble.
func many(n int) standing {
	var out standing
	for i := range n {
		name := fmt.Sprintf("cluster-%04d", i)
		var change func(*fleet.Status)
		switch {
		case i%97 == 13:
			change = func(s *fleet.Status) {
				s.Conditions = []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionFalse,
					meta.BuildFailedReason, "1 object is held at its last good version; first: "+
						"teams/checkout/servicemonitor.yaml:17:9: ServiceMonitor/checkout/cart: "+
						"spec.endpoints[0].interval: \"1 minute\" is no duration")}
				s.Findings = gitsync.Findings{Errors: 2, Warnings: 3,
					First: diag.List{finding("spec.endpoints[0].interval: \"1 minute\" is no duration")}}
				s.Held = []plan.HeldObject{{
					ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "checkout", Name: "cart"}, State: "leftout",
					Reason: finding("no duration")}}
			}
		case i%41 == 7:
			change = func(s *fleet.Status) { s.Findings = gitsync.Findings{Warnings: 1} }
		default:
			change = func(*fleet.Status) {}
		}
		out.pipelines = append(out.pipelines, running(name, change))
	}
	return out
}

// TestThePageOfManyPipelines prints how high the page is, in screens of 800 px, and how long it takes to load.
func TestThePageOfManyPipelines(t *testing.T) {
	browser := chromium(t)
	for _, n := range []int{1, 200, 1000} {
		service := admin(t, many(n), nil)
		examine(t, browser, service, map[string]subject{
			fmt.Sprint(n): {path: "/", large: n > 1, isolated: true, says: []string{"cluster-0000"}},
		})
		for _, l := range []look{looks()[0], looks()[1]} {
			s := visit(t, browser, service.URL+"/", l)
			took := get(t, s.tab, chromedp.Evaluate[float64](
				"performance.getEntriesByType('navigation')[0].loadEventEnd"))
			t.Logf("%d pipelines, %s: %.1f screens, loaded in %.0f ms", n, l, float64(s.Height)/800, took)
			if limit := 3 + n/12; s.Height > 800*limit {
				t.Errorf("%d pipelines, %s: %d px are more than %d screens", n, l, s.Height, limit)
			}
		}
	}
}

// TestThePageIsLive: what changes is shown without a reload, and the keyboard stays where it is.
func TestThePageIsLive(t *testing.T) {
	first, second := many(3), many(3)
	second.pipelines[1] = running("cluster-0001", func(s *fleet.Status) { s.Suspended = true })
	shown := &changing{standing: first}
	service := admin(t, shown, nil)
	s := visit(t, chromium(t), service.URL+"/", looks()[1])
	do(t, s.tab, chromedp.Evaluate[chromedp.Void](
		`window.kept = true; document.querySelector('#p-cluster-0002 a').focus(); 0`))
	shown.become(second)
	const live = `new Promise(done => setInterval(() => document.body.innerText.includes('Suspended') && done(window.kept && document.activeElement.textContent), 100))`
	if at := get(t, s.tab, chromedp.Evaluate[string](live, chromedp.EvalAwaitPromise)); at != "cluster-0002" {
		t.Errorf("the focus is on %q", at)
	}
	do(t, s.tab, chromedp.Evaluate[chromedp.Void](`document.getElementById('q').focus(); 0`))
	for _, key := range "0000" {
		do(t, s.tab, chromedp.KeyEvent(string(key)))
	}
	const found = `new Promise(done => setInterval(() => document.querySelectorAll('tbody tr').length === 1 && done(document.activeElement.value + location.search), 100))`
	if at := get(t, s.tab, chromedp.Evaluate[string](found, chromedp.EvalAwaitPromise)); at != "0000?q=0000" {
		t.Errorf("what is typed leads to %q", at)
	}
	for _, complaint := range s.complaints() {
		t.Error(complaint)
	}
}

// TestASlashLeadsToTheSearch: from any page, and results follow what is typed.
func TestASlashLeadsToTheSearch(t *testing.T) {
	service := admin(t, many(3), nil)
	s := visit(t, chromium(t), service.URL+"/pipelines/cluster-0001", looks()[1])
	// A key as a keyboard sends it: what a page prevents is not written.
	slash := command(input.DispatchKeyEvent,
		input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/"})
	write := func(text string) {
		for _, key := range text {
			do(t, s.tab, chromedp.KeyEvent(string(key)))
		}
	}
	do(t, s.tab, slash)
	write("check\r")
	do(t, s.tab, chromedp.WaitVisible("#in-objects"))
	do(t, s.tab, slash)
	write("none") // in the place of what is there
	do(t, s.tab, chromedp.WaitVisible(".nothing"))
	const typed = `document.activeElement.value + location.search`
	if at := get(t, s.tab, chromedp.Evaluate[string](typed)); at != "none?q=none" {
		t.Errorf("what is typed leads to %q", at)
	}
	for _, complaint := range s.complaints() {
		t.Error(complaint)
	}
}

// changing is a fleet that becomes another one.
type changing struct {
	standing
	mu sync.Mutex
}

func (c *changing) become(s standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing = s
}

// Status implements the fleet.
func (c *changing) Status() []fleet.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pipelines
}

// Definitions implements the fleet.
func (c *changing) Definitions() []*fleet.Definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing.Definitions()
}

// admin serves the pages of a fleet.
func admin(t *testing.T, f server.Fleet, token func() string) *httptest.Server {
	t.Helper()
	handler, err := server.NewAdmin(server.Options{
		Fleet: f, Trigger: func(fleet.Trigger) {}, Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Token: token,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, handler)
}

func TestThePagesOfTheService(t *testing.T) {
	browser := chromium(t)
	calm := standing{
		pipelines: []fleet.Status{running("prod-eu"), running("prod-us")},
		remotes: []fleet.RemoteStatus{{URL: "https://git.example.com/platform/monitoring", Pipelines: 2, Refs: 2,
			LastRound: moment(-8 * time.Second), NextRound: moment(time.Minute)}},
	}
	for name, s := range map[string]standing{"troubled": unready(), "calm": calm, "empty": {}} {
		subjects := map[string]subject{name: {path: "/"}}
		if name == "troubled" {
			subjects = map[string]subject{
				name: {path: "/", says: []string{
					hostile, "1 of 7 pipelines not ready", "1 problem", "Suspended", "Elsewhere", "Stalled", "Waiting",
					"2 errors", "3 held", "unknown field", "prod-us",
				}},
				"groups": {path: "/?group=repository",
					says: []string{"https://git.example.com/platform/monitoring"}},
				"remotes": {path: "/remotes", says: []string{"12 times", hostile}},
				"hierarchy": {path: "/pipelines/prod-eu/hierarchy",
					says: []string{"monitoring/grafana-agent", "rendered"}},
				"agent": {path: "/pipelines/prod-eu/explain?object=GrafanaAgent/monitoring/grafana-agent",
					says: []string{"MetricsInstance/monitoring/primary", "bytes"}},
				"monitor": {path: "/pipelines/prod-eu/explain?object=ServiceMonitor/team-shop/checkout",
					says: []string{"serviceMonitor/team-shop/checkout/0", "<img src=x onerror=alert(1)>",
						"Secret/monitoring/login"}},
				"missed": {path: "/pipelines/prod-eu/explain?object=ServiceMonitor/team-search/search",
					says: []string{"has no manifest here", "one label and one label of the namespace away"}},
				"found here": {path: "/search?q=team-shop&pipeline=prod-eu",
					says: []string{"Found: ", "in prod-eu", "Namespace/team-shop",
						"serviceMonitor/team-shop/checkout/0"}},
				"found": {path: "/search?q=checkout", isolated: true, says: []string{"Found: ",
					"ServiceMonitor/team-shop/checkout", "Not searched", "another-replicas"}},
				"not found": {path: "/search?q=" + strings.Repeat("nothing", 40), isolated: true,
					says: []string{"Found: 0 results"}},
				"code":         {path: "/codes/unknown-field", says: []string{"unknown-field", "error"}},
				"not searched": {path: "/search", says: []string{"Write words above"}},
				"one": {path: "/pipelines/prod-eu", isolated: true, says: []string{
					"prod-eu", "Stalled", hostile, "cannot be reached", "left out", "the whole unit is held",
					"41 failed in a row", "write it right", "Run a pass",
				}},
				"fine": {path: "/pipelines/prod-us", says: []string{"Ready", "Nothing was found"}},
				"odd": {path: "/pipelines/%3Cimg%20src=x%20onerror=alert%283%29%3E",
					says: []string{hostile, "<img src=x onerror=alert(3)>"}},
			}
		}
		examine(t, browser, admin(t, s, nil), subjects)
	}
}

// TestAPageBehindAToken: a browser has no bearer tokens. It asks for a password, which is the token,
// and must ask for the style with it too.
func TestAPageBehindAToken(t *testing.T) {
	const token = "0123456789abcdef"
	service := admin(t, unready(), func() string { return token })
	address := strings.Replace(service.URL, "http://", fmt.Sprintf("http://anybody:%s@", token), 1)
	s := visit(t, chromium(t), address+"/", looks()[1])
	for _, complaint := range s.complaints() {
		t.Error(complaint)
	}
	if !strings.Contains(s.Text, "prod-us") {
		t.Errorf("the page says %q", s.Text)
	}
}
