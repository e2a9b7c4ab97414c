package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// fake is a fleet whose state does not change.
type fake struct {
	pipelines []fleet.Status
	remotes   []fleet.RemoteStatus
	problems  diag.List
	triggers  []fleet.Trigger
	renders   map[string]*explain.Render
}

func (f *fake) Status() []fleet.Status           { return f.pipelines }
func (f *fake) Definitions() []*fleet.Definition { return nil }
func (f *fake) Remotes() []fleet.RemoteStatus    { return f.remotes }
func (f *fake) Problems() diag.List              { return f.problems }
func (f *fake) Caches(name string) ([]*object.Reader, bool) {
	_, ok := f.Pipeline(name)
	return nil, ok
}

func (f *fake) Explained(_ context.Context, name string) (*explain.Render, bool) {
	r, ok := f.renders[name]
	return r, ok
}

func (f *fake) Index(name string) (*explain.Index, bool) {
	r, ok := f.renders[name]
	if r == nil {
		return nil, ok
	}
	return explain.New(*r).Index(), ok
}

func (f *fake) trigger(t fleet.Trigger)                  { f.triggers = append(f.triggers, t) }
func (f *fake) handler(token func() string) http.Handler { return f.handlerFor(token, nil) }
func (f *fake) handlerFor(token, readToken func() string) http.Handler {
	h, err := NewAdmin(Options{
		Fleet: f, Trigger: f.trigger, Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Token: token,
		ReadToken: readToken, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err) // a template is invalid
	}
	return h
}

func (f *fake) Pipeline(name string) (fleet.Status, bool) {
	for _, s := range f.pipelines {
		if s.Name == name {
			return s, true
		}
	}
	return fleet.Status{}, false
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message}}
}

func good(name string) fleet.Status {
	return fleet.Status{Name: name, Owned: true,
		Conditions: ready(metav1.ConditionTrue, meta.SucceededReason, "rendered"),
		Findings:   gitsync.NewFindings(diag.List{})}
}

func untriedPipeline(name string) fleet.Status {
	return fleet.Status{Name: name, Owned: true, Conditions: ready(metav1.ConditionUnknown, meta.ProgressingReason, "")}
}

// request describes a request to send.
type request struct {
	method, path, host, body string
	header                   map[string]string
}

func ask(h http.Handler, q request) *httptest.ResponseRecorder {
	if q.method == "" {
		q.method = http.MethodGet
	}
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	r.Host = "localhost:9393"
	if q.host != "" {
		r.Host = q.host
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

func TestWhoMayAskOnLoopback(t *testing.T) {
	for name, test := range map[string]struct {
		request
		want int
	}{
		"localhost":                         {request{path: "/"}, 200},
		"localhost without a port":          {request{path: "/", host: "LocalHost"}, 200},
		"127.0.0.1":                         {request{path: "/", host: "127.0.0.1:9393"}, 200},
		"IPv6":                              {request{path: "/", host: "[::1]:9393"}, 200},
		"IPv6 without a port":               {request{path: "/", host: "[::1]"}, 200},
		"a name that leads here by DNS":     {request{path: "/", host: "rebound.example.com"}, 403},
		"a name that begins with localhost": {request{path: "/", host: "localhost.example.com:9393"}, 403},
		"an address that is not loopback":   {request{path: "/", host: "192.0.2.1:9393"}, 403},
		"metrics by a name":                 {request{path: "/metrics", host: "agentry.example.com"}, 403},
		"health by a name":                  {request{path: "/healthz", host: "agentry.example.com"}, 200},
		"readiness by a name":               {request{path: "/readyz", host: "10.0.0.1:9393"}, 200},
		"a trigger":                         {request{method: "POST", path: "/api/v1/reconcile"}, 202},
		"a trigger by a page of this host": {request{method: "POST", path: "/api/v1/reconcile",
			header: map[string]string{"Origin": "http://localhost:9393", "Sec-Fetch-Site": "same-origin"}}, 202},
		"a trigger by another site": {request{method: "POST", path: "/api/v1/reconcile",
			header: map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}}, 403},
		"a trigger by another site, from an old browser": {request{method: "POST", path: "/api/v1/reconcile",
			header: map[string]string{"Origin": "https://evil.example.com"}}, 403},
		"a trigger by nobody says who": {request{method: "POST", path: "/api/v1/reconcile",
			header: map[string]string{"Origin": "null"}}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			got := ask(f.handler(nil), test.request)
			if got.Code != test.want {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if (len(f.triggers) > 0) != (test.want == 202) {
				t.Errorf("triggers %v", f.triggers)
			}
			if csp := got.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
				t.Errorf("policy %q", csp)
			}
		})
	}
}

func TestWhoMayAskWithToken(t *testing.T) {
	for name, test := range map[string]struct {
		path, authorization string
		want                int
	}{
		"the token":               {"/api/v1/pipelines", "Bearer s3cret", 200},
		"as a browser sends it":   {"/", "Basic eDpzM2NyZXQ=", 200},
		"the token of before":     {"/", "Bearer old", 401},
		"another password":        {"/", "Basic eDpvbGQ=", 401},
		"another scheme":          {"/", "Token s3cret", 401},
		"nothing":                 {"/metrics", "", 401},
		"an empty token":          {"/", "Bearer ", 401},
		"health is open to all":   {"/healthz", "", 200},
		"so is whether it's good": {"/readyz", "", 200},
	} {
		t.Run(name, func(t *testing.T) {
			token := "old"
			h := (&fake{}).handler(func() string { return token })
			token = "s3cret"
			q := request{path: test.path, host: "agentry.example.com"}
			if test.authorization != "" {
				q.header = map[string]string{"Authorization": test.authorization}
			}
			if got := ask(h, q); got.Code != test.want {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	f := &fake{pipelines: []fleet.Status{
		good("a"), untriedPipeline("b"), untriedPipeline("c"),
		{Name: "failed", Owned: true, Conditions: ready(metav1.ConditionFalse, meta.FailedReason,
			"the password is s3cret")},
		{Name: "asleep", Owned: true, Suspended: true},
		{Name: "of another replica", Conditions: ready(metav1.ConditionUnknown, fleet.ReasonElsewhere, "")},
	}}
	h := f.handler(nil)
	if got := ask(h, request{path: "/readyz"}); got.Code != 503 || got.Body.String() != "2 pipelines not tried yet\n" {
		t.Errorf("%d %q", got.Code, got.Body)
	}
	f.pipelines[1], f.pipelines[2] = good("b"), good("c")
	if got := ask(h, request{path: "/readyz"}); got.Code != 200 {
		t.Errorf("%d %q", got.Code, got.Body)
	}
	f.pipelines = append(f.pipelines, untriedPipeline("new"))
	if got := ask(h, request{path: "/readyz"}); got.Code != 200 {
		t.Errorf("a new pipeline made it %d %q", got.Code, got.Body)
	}
}

func TestReconcile(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		status     int
		want       []fleet.Trigger
	}{
		"a pipeline": {"/api/v1/pipelines/a/reconcile", `{"requestedAt": "now"}`, 202,
			[]fleet.Trigger{{Pipeline: "a", Reason: "api", Token: "now"}}},
		"all": {"/api/v1/reconcile", `{"requestedAt": "now"}`, 202,
			[]fleet.Trigger{{Reason: "api", Token: "now"}}},
		"an unknown one":     {"/api/v1/pipelines/x/reconcile", ``, 404, nil},
		"a suspended one":    {"/api/v1/pipelines/asleep/reconcile", ``, 409, nil},
		"an unknown field":   {"/api/v1/reconcile", `{"when": "now"}`, 400, nil},
		"no object":          {"/api/v1/reconcile", `"now"`, 400, nil},
		"two objects":        {"/api/v1/reconcile", `{} {}`, 400, nil},
		"a line break in it": {"/api/v1/reconcile", `{"requestedAt": "a\nb"}`, 400, nil},
		"as long as may be": {"/api/v1/reconcile", `{"requestedAt": "` + strings.Repeat("a", maxTokenBytes) + `"}`,
			202, []fleet.Trigger{{Reason: "api", Token: strings.Repeat("a", maxTokenBytes)}}},
		"longer": {"/api/v1/reconcile",
			`{"requestedAt": "` + strings.Repeat("a", maxTokenBytes+1) + `"}`, 400, nil},
		"an endless body":        {"/api/v1/reconcile", strings.Repeat(" ", maxRequestBytes+1) + `{}`, 400, nil},
		"a path between the two": {"/api/v1/pipelines/reconcile", ``, 405, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{pipelines: []fleet.Status{good("a"), {Name: "asleep", Suspended: true}}}
			got := ask(f.handler(nil), request{method: "POST", path: test.path, body: test.body})
			if got.Code != test.status {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if diff := cmp.Diff(test.want, f.triggers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	f := &fake{}
	got := ask(f.handler(nil), request{method: "POST", path: "/api/v1/reconcile"})
	var said Reconcile
	if err := json.Unmarshal(got.Body.Bytes(), &said); err != nil || said.RequestedAt == "" || len(f.triggers) != 1 ||
		f.triggers[0].Token != said.RequestedAt {
		t.Errorf("%q %v %v", got.Body, err, f.triggers)
	}
}

func TestAPI(t *testing.T) {
	f := &fake{
		pipelines: []fleet.Status{good("a")},
		remotes:   []fleet.RemoteStatus{{URL: "https://git.example.com/a", Pipelines: 1}},
		problems: diag.List{{Severity: diag.Error, Code: diag.PipelineInvalid, File: "p.yaml", Line: 3,
			Message: "unknown field", Units: []string{}, Related: []diag.Object{}}},
	}
	h := f.handler(nil)
	var all Pipelines
	var one Pipeline
	var remotes Remotes
	for path, into := range map[string]any{"/api/v1/pipelines": &all, "/api/v1/pipelines/a": &one,
		"/api/v1/remotes": &remotes} {
		got := ask(h, request{path: path})
		if err := json.Unmarshal(got.Body.Bytes(), into); err != nil || got.Code != 200 ||
			got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %v", path, got.Code, got.Header(), err)
		}
	}
	want := Pipelines{Version: "v1.2.3", Items: []Pipeline{{Status: f.pipelines[0]}}, Problems: f.problems}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(Pipeline{Status: f.pipelines[0]}, one); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(f.remotes, remotes.Items); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := ask(h, request{path: "/api/v1/pipelines/x"}); got.Code != 404 ||
		!strings.Contains(got.Body.String(), `"error": "no such pipeline"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := ask((&fake{}).handler(nil),
		request{path: "/api/v1/pipelines"}); !strings.Contains(got.Body.String(), `"items": []`) ||
		!strings.Contains(got.Body.String(), `"problems": []`) {
		t.Errorf("lists without items: %s", got.Body)
	}
}

// TestWhoMayAct: the rights to read and to act are separate.
func TestWhoMayAct(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, token string
		want                int
		triggers            bool
	}{
		"the page with the reader's token":        {"GET", "/pipelines/a", "reader", 200, false},
		"the API with the reader's token":         {"GET", "/api/v1/pipelines", "reader", 200, false},
		"a pass by the API with it":               {"POST", "/api/v1/pipelines/a/reconcile", "reader", 403, false},
		"all passes with it":                      {"POST", "/api/v1/reconcile", "reader", 403, false},
		"a pass by the page with it":              {"POST", "/pipelines/a/pass", "reader", 403, false},
		"a pass by the page with the other token": {"POST", "/pipelines/a/pass", "actor", 303, true},
		"a pass by the API with the other token":  {"POST", "/api/v1/pipelines/a/reconcile", "actor", 202, true},
		"a pass of a suspended one":               {"POST", "/pipelines/asleep/pass", "actor", 409, false},
		"a pass of one that is not there":         {"POST", "/pipelines/x/pass", "actor", 404, false},
		"a pass with no token":                    {"POST", "/pipelines/a/pass", "", 401, false},
		"an empty token":                          {"GET", "/", " ", 401, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{pipelines: []fleet.Status{good("a"), {Name: "asleep", Suspended: true}}}
			h := f.handlerFor(func() string { return "actor" }, func() string { return "reader" })
			q := request{method: test.method, path: test.path, host: "agentry.example.com"}
			if test.token != "" {
				q.header = map[string]string{"Authorization": "Bearer " + test.token}
			}
			got := ask(h, q)
			if got.Code != test.want || (len(f.triggers) > 0) != test.triggers {
				t.Errorf("%d %s, %v", got.Code, got.Body, f.triggers)
			}
			if button := strings.Contains(got.Body.String(), "Run a pass"); button {
				t.Error("a page has a button that does nothing")
			}
		})
	}
}

func TestTheButtonForAPass(t *testing.T) {
	f := &fake{pipelines: []fleet.Status{good("a")}}
	h := f.handler(nil)
	if got := ask(h, request{path: "/pipelines/a"}); !strings.Contains(got.Body.String(), "Run a pass") {
		t.Errorf("there is no button: %s", got.Body)
	}
	got := ask(h, request{method: "POST", path: "/pipelines/a/pass",
		header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
	if got.Code != http.StatusSeeOther || len(f.triggers) != 1 {
		t.Fatalf("%d %v", got.Code, f.triggers)
	}
	at := got.Header().Get("Location")
	if text := ask(h, request{path: at}).Body.String(); !strings.Contains(text, "A pass was asked for") {
		t.Errorf("%s does not say that one was asked for", at)
	}
	f.pipelines[0].LastHandledReconcileAt = f.triggers[0].Token
	if text := ask(h, request{path: at}).Body.String(); !strings.Contains(text, "has ended") {
		t.Errorf("%s does not say that it has ended", at)
	}
	evil := map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}
	if got := ask(h, request{method: "POST", path: "/pipelines/a/pass", header: evil}); got.Code !=
		http.StatusForbidden || len(f.triggers) != 1 {
		t.Errorf("another site: %d %v", got.Code, f.triggers)
	}
}

func TestStyleAndUnknownPaths(t *testing.T) {
	h := (&fake{}).handler(nil)
	if got := ask(h, request{path: "/style.css"}); got.Code != 200 ||
		got.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	for _, path := range []string{"/hook/github/a/b", "/debug/pprof/", "/etc/passwd"} {
		if got := ask(h, request{path: path}); got.Code != 404 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:9393": true, "localhost:9393": true, "[::1]:9393": true, "127.1.2.3:0": true,
		":9393": false, "0.0.0.0:9393": false, "[::]:9393": false, "10.0.0.1:9393": false, "localhost": false,
		"": false,
	} {
		if got := IsLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
