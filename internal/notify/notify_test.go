package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

const (
	input  = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
	later  = "1111111111111111111111111111111111111111"
	output = "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d"
)

// call is a request that arrived.
type call struct {
	path   string
	header http.Header
	body   []byte
}

// sink is a recipient of events.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []call
	answer func(w http.ResponseWriter, n int)
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{answer: func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusAccepted) }}
	s.Server = httptest.NewUnstartedServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *sink) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // a test that compares it sees what is missing
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{req.Method + " " + req.URL.Path, req.Header, body})
	s.answer(w, len(s.calls))
}

// events decodes what arrived, strictly.
func (s *sink) events(t *testing.T) []eventv1.Event {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []eventv1.Event
	for _, c := range s.calls {
		dec := json.NewDecoder(bytes.NewReader(c.body))
		dec.DisallowUnknownFields()
		var e eventv1.Event
		if err := dec.Decode(&e); err != nil {
			t.Errorf("%v: %s", err, c.body)
		}
		out = append(out, e)
	}
	return out
}

// deliver runs an observer until it has sent all outcomes.
func deliver(t *testing.T, secrets *pipelinefile.Secrets, outcomes ...fleet.Outcome) (log string, o *Observer) {
	t.Helper()
	var text bytes.Buffer
	o = New(Options{
		Secrets:  func(*fleet.Definition) (*pipelinefile.Secrets, error) { return secrets, nil },
		Instance: "agentry-0",
		Log:      slog.New(slog.NewTextHandler(&text, nil)),
	})
	for _, out := range outcomes {
		o.Passed(t.Context(), out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // at the end everything is tried once, and then Run returns
	if err := o.Run(ctx); err != nil {
		t.Error(err)
	}
	return text.String(), o
}

// testbed makes the outcomes of one pipeline.
type testbed struct {
	def fleet.Definition
}

func newTestbed(spec func(*pipeline.Spec)) *testbed {
	w := &testbed{}
	w.def.Metadata.Name = "prod-eu"
	w.def.Spec.Sources = []pipeline.Source{{URL: "https://git.example.com/platform/monitoring",
		Ref: pipeline.Ref{Branch: "main"}}}
	w.def.Spec.Output.Branch = "env/prod"
	spec(&w.def.Spec)
	return w
}

// pass makes an outcome whose ready condition has the reason; it is True for Succeeded.
func (w *testbed) pass(reason, text string, change func(*fleet.Outcome)) fleet.Outcome {
	status := metav1.ConditionFalse
	if reason == meta.SucceededReason {
		status = metav1.ConditionTrue
	}
	out := fleet.Outcome{
		Definition: &w.def, Began: time.Now(), Took: time.Second, Trigger: fleet.ReasonPoll,
		Report: &gitsync.Report{Pipeline: "prod-eu",
			Output: gitsync.OutputStatus{URL: "https://git.example.com/platform/monitoring", Branch: "env/prod"}},
		After: fleet.Status{
			Name: "prod-eu", Owned: true,
			Conditions: []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: text}},
			Sources:    []gitsync.SourceStatus{{URL: "https://git.example.com/platform/monitoring", Commit: input}},
		},
	}
	if change != nil {
		change(&out)
	}
	return out
}

func push(out *fleet.Outcome) {
	out.Report.Commit = output
	out.Report.Units = []gitsync.UnitStatus{{Name: "team-a/agent", State: plan.UnitChanged},
		{Name: "team-b/agent", State: plan.UnitUnchanged}}
}

// hold holds an object because of a field.
func hold(path string) func(*fleet.Outcome) {
	return func(out *fleet.Outcome) {
		out.After.Held = []plan.HeldObject{{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "team-a", Name: "api"},
			Reason: diag.Diagnostic{Code: "x", Path: path, Message: "unknown field", File: "team-a/api.yaml", Line: 7}}}
	}
}

func moved(out *fleet.Outcome) { out.After.Sources[0].Commit = later }

func TestAnEventIsWhatFluxSends(t *testing.T) {
	s := newSink(t)
	s.Start()
	key := []byte("hmac-key")
	w := newTestbed(func(spec *pipeline.Spec) { spec.Notify = []pipeline.Notify{{URL: s.URL + "/events"}} })
	deliver(t, &pipelinefile.Secrets{Notify: []pipelinefile.EndpointSecret{{Secret: key}}},
		w.pass(meta.SucceededReason, "applied", push))

	events := s.events(t)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if age := time.Since(events[0].Timestamp.Time); age < -time.Second || age > time.Minute {
		t.Errorf("timestamp %s", events[0].Timestamp)
	}
	events[0].Timestamp = metav1.Time{}
	want := eventv1.Event{
		Severity: "info", Reason: "Succeeded",
		Message: "pushed 7fd1a60 to env/prod of https://git.example.com/platform/monitoring\nUnits:\n" +
			"- changed team-a/agent",
		Metadata: map[string]string{"revision": "env/prod@sha1:" + output, "originRevision": "main@sha1:" + input},

		ReportingController: "agentry", ReportingInstance: "agentry-0",
	}
	want.InvolvedObject.APIVersion, want.InvolvedObject.Kind, want.InvolvedObject.Name = "agentry.dev/v1alpha1",
		"Pipeline", "prod-eu"
	if diff := cmp.Diff(want, events[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := s.calls[0]
	if c.path != "POST /events" || c.header.Get("Gotk-Component") != "agentry" ||
		c.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", c.path, c.header)
	}
	if got, want := c.header.Get("X-Signature"), "sha256="+byDefinition(key, c.body); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// byDefinition is HMAC-SHA-256 as RFC 2104 defines it, for keys shorter than a block.
func byDefinition(key, text []byte) string {
	inner, outer := bytes.Repeat([]byte{0x36}, 64), bytes.Repeat([]byte{0x5c}, 64)
	for i, b := range key {
		inner[i] ^= b
		outer[i] ^= b
	}
	first := sha256.Sum256(append(inner, text...))
	second := sha256.Sum256(append(outer, first[:]...))
	return hex.EncodeToString(second[:])
}

func TestSignaturesAreThoseOfRFC4231(t *testing.T) {
	const want = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	if got := sign([]byte("Jefe"), []byte("what do ya want for nothing?")); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnEventUnderTheIdentityOfAFluxObject(t *testing.T) {
	s := newSink(t)
	s.Start()
	w := newTestbed(func(spec *pipeline.Spec) {
		spec.Notify = []pipeline.Notify{{URL: s.URL,
			Object: &pipeline.NotifyObject{Kind: "Kustomization", Name: "monitoring", Namespace: "flux-system"}}}
	})
	deliver(t, &pipelinefile.Secrets{}, w.pass(meta.SucceededReason, "applied", push),
		w.pass(meta.SucceededReason, "applied", moved))
	events := s.events(t)
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	object := events[0].InvolvedObject
	if object.GroupVersionKind().String() != "kustomize.toolkit.fluxcd.io/v1, Kind=Kustomization" ||
		object.Name != "monitoring" || object.Namespace != "flux-system" {
		t.Errorf("object %+v", object)
	}
	if !strings.HasPrefix(events[0].Message, "prod-eu: pushed ") {
		t.Errorf("the message does not name the pipeline: %s", events[0].Message)
	}
	// notification-controller keeps the metadata with the prefix of the object's group, and removes the prefix.
	const group = "kustomize.toolkit.fluxcd.io/"
	if got := events[0].Metadata[group+"originRevision"]; got != "main@sha1:"+input {
		t.Errorf("metadata %v", events[0].Metadata)
	}
	if _, ok := events[0].Metadata[group+"commit_status"]; ok {
		t.Error("a push only updates a commit status, so that chats do not see it")
	}
	if events[1].Metadata[group+"commit_status"] != "update" ||
		events[1].Metadata[group+"originRevision"] != "main@sha1:"+later {
		t.Errorf("metadata of another commit without changes: %v", events[1].Metadata)
	}
	if s.calls[0].header.Get("X-Signature") != "" {
		t.Error("signed without a key")
	}
}

func TestOneEventForEachChangeOfState(t *testing.T) {
	s := newSink(t)
	s.Start()
	errorsOnly := newSink(t)
	errorsOnly.Start()
	w := newTestbed(func(spec *pipeline.Spec) {
		spec.Notify = []pipeline.Notify{{URL: s.URL}, {URL: errorsOnly.URL, Severity: "error"}}
	})
	elsewhere := w.pass(fleet.ReasonElsewhere, "", func(o *fleet.Outcome) { o.After.Owned = false })
	stalled := w.pass(meta.FailedReason, "the branch is protected", func(o *fleet.Outcome) {
		o.After.Conditions = append(o.After.Conditions,
			metav1.Condition{Type: meta.StalledCondition, Status: metav1.ConditionTrue, Reason: meta.FailedReason,
				Message: "the branch is protected"})
	})
	outcomes := []fleet.Outcome{
		w.pass(meta.ProgressingReason, "starts", nil),
		w.pass(meta.SucceededReason, "nothing to do", nil), // is no news after a start
		w.pass(meta.SucceededReason, "nothing to do", moved),
		w.pass(meta.BuildFailedReason, "1 object is held", hold("spec.port")),
		w.pass(meta.BuildFailedReason, "1 object is held", hold("spec.port")),
		w.pass(meta.BuildFailedReason, "1 object is held", hold("spec.job")),
		w.pass(meta.BuildFailedReason, "1 object is held", func(o *fleet.Outcome) {
			hold("spec.job")(o)
			push(o)
		}),
		elsewhere,
		w.pass(meta.FailedReason, "connection refused", nil),
		w.pass(meta.FailedReason, "no route to host", nil), // fails still
		stalled,
		w.pass(meta.SucceededReason, "well again", nil),
		{Definition: &w.def, After: w.pass(meta.SucceededReason, "", nil).After, Removed: true},
	}
	deliver(t, &pipelinefile.Secrets{}, outcomes...)
	var got []string
	for _, e := range s.events(t) {
		first, _, _ := strings.Cut(e.Message, "\n")
		got = append(got, e.Severity+" "+e.Reason+" "+first)
	}
	want := []string{
		"error BuildFailed 1 object is held",
		"error BuildFailed 1 object is held",
		"info Succeeded pushed 7fd1a60 to env/prod of https://git.example.com/platform/monitoring; 1 object is held",
		"error Failed connection refused",
		"error Failed the branch is protected",
		"info Succeeded well again",
		"info Removed is gone from the configuration; its branch is left unchanged",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := s.events(t)[0].Message; text !=
		"1 object is held\nHeld:\n- ServiceMonitor/team-a/api: spec.port: unknown field (team-a/api.yaml:7)" {
		t.Errorf("message: %s", text)
	}
	if n := len(errorsOnly.events(t)); n != 4 {
		t.Errorf("%d errors, want 4", n)
	}
}

func TestMessagesHaveALimit(t *testing.T) {
	s := newSink(t)
	s.Start()
	w := newTestbed(func(spec *pipeline.Spec) {
		spec.Notify = []pipeline.Notify{{URL: s.URL,
			Object: &pipeline.NotifyObject{Kind: "GitRepository", Name: "x", Namespace: "y"}}}
	})
	deliver(t, &pipelinefile.Secrets{},
		w.pass(meta.BuildFailedReason, strings.Repeat("é", MaxMessageBytes), nil),
		w.pass(meta.BuildFailedReason, "many are held", func(o *fleet.Outcome) {
			for range 1000 {
				o.After.Held = append(o.After.Held,
					plan.HeldObject{ID: manifest.ID{Kind: "Probe", Namespace: "a", Name: "b"},
						Reason: diag.Diagnostic{Message: strings.Repeat("x\n", 1000)}})
			}
		}))
	for i, e := range s.events(t) {
		if len(e.Message) > MaxMessageBytes || !strings.HasPrefix(e.Message, "prod-eu: ") {
			t.Errorf("event %d has %d bytes", i, len(e.Message))
		}
	}
	if text := s.events(t)[1].Message; !strings.HasSuffix(text, "\n… and 950 more") || strings.Count(text, "\n") != 52 {
		t.Errorf("%d lines", strings.Count(text, "\n"))
	}
}

func TestReceiversAreCalledAfterAPushAndOnlyThen(t *testing.T) {
	s := newSink(t)
	s.Start()
	w := newTestbed(func(spec *pipeline.Spec) {
		spec.Output.Receivers = []pipeline.Receiver{{URL: s.URL + "/hook/0123"}}
	})
	secrets := &pipelinefile.Secrets{Receivers: []pipelinefile.EndpointSecret{{Secret: []byte("token")}}}
	deliver(t, secrets, w.pass(meta.SucceededReason, "", nil), w.pass(meta.SucceededReason, "", push),
		w.pass(meta.SucceededReason, "", push))
	if len(s.calls) != 1 {
		t.Fatalf("%d calls, want one for both pushes", len(s.calls))
	}
	if want := `{"pipeline":"prod-eu","revision":"env/prod@sha1:` + output + `"}`; string(s.calls[0].body) != want {
		t.Errorf("body %s", s.calls[0].body)
	}
	if got := s.calls[0].header.Get("X-Signature"); !strings.HasPrefix(got, "sha256=") ||
		len(got) != len("sha256=")+64 {
		t.Errorf("signature %q", got)
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	const secret = "s3cret"
	elsewhere := newSink(t)
	elsewhere.Start()
	tests := map[string]struct {
		answer func(w http.ResponseWriter, n int)
		want   string
	}{
		"an address that is gone": {func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusGone) }, "410 Gone"},
		"a redirect": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(307)
		}, "redirects are not followed"},
		"an answer without an end": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(500)
			_, _ = w.Write(bytes.Repeat([]byte(secret), 1<<20))
		}, "500 Internal Server Error"},
		"a connection that is shut": {func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) }, "EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSink(t)
			s.answer = test.answer
			s.Start()
			w := newTestbed(func(spec *pipeline.Spec) {
				spec.Notify = []pipeline.Notify{{URL: s.URL + "/services/" + secret}}
			})
			log, o := deliver(t, &pipelinefile.Secrets{Notify: []pipelinefile.EndpointSecret{{Secret: []byte(secret)}}},
				w.pass(meta.FailedReason, "x", nil))
			if !strings.Contains(log, test.want) || strings.Contains(log, secret) {
				t.Errorf("log: %s", log)
			}
			if got := o.Stats(); got.Failed != 1 || got.Done != 0 {
				t.Errorf("stats %+v", got)
			}
		})
	}
	if len(elsewhere.calls) != 0 {
		t.Error("a redirect was followed")
	}
}

func TestAnswersThatAreTriedAgain(t *testing.T) {
	for _, test := range []struct {
		status int
		header http.Header
		again  bool
	}{
		{202, nil, false}, {400, nil, false}, {401, nil, true}, {404, nil, true}, {413, nil, false},
		{429, nil, false}, {429, http.Header{"Retry-After": {"5"}}, true}, {500, nil, true},
		{503, http.Header{"Retry-After": {"7"}}, true},
		{503, http.Header{"Retry-After": {"Fri, 01 Jan 2100 00:00:00 GMT"}}, true}, // or our clock is far behind
	} {
		err := checkAnswer("host", &http.Response{StatusCode: test.status, Header: test.header})
		permanent, isPermanent := errors.AsType[interface {
			error
			Permanent() bool
		}](err)
		if again := err != nil && !(isPermanent && permanent.Permanent()); again != test.again {
			t.Errorf("%d %v: tried again: %t", test.status, test.header, again)
		}
		wait, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](err)
		if ok != (test.header != nil) || ok && (wait.RetryAfter() <= 0 || wait.RetryAfter() > time.Hour) {
			t.Errorf("%d: wait %v", test.status, wait)
		}
	}
}

func TestCertificatesAndSecretsAreReadWhenTheyAreNeeded(t *testing.T) {
	s := newSink(t)
	s.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	w := newTestbed(func(spec *pipeline.Spec) { spec.Notify = []pipeline.Notify{{URL: s.URL}} })
	deliver(t, &pipelinefile.Secrets{Notify: []pipelinefile.EndpointSecret{{CAPEM: ca}}},
		w.pass(meta.FailedReason, "x", nil))
	if len(s.calls) != 1 {
		t.Errorf("%d calls with the CA", len(s.calls))
	}
	log, _ := deliver(t, &pipelinefile.Secrets{}, w.pass(meta.FailedReason, "x", nil))
	if len(s.calls) != 1 || !strings.Contains(log, "certificate") {
		t.Errorf("%d calls without the CA: %s", len(s.calls), log)
	}
	o := New(Options{Secrets: func(*fleet.Definition) (*pipelinefile.Secrets, error) {
		return nil, errors.New("open key: no such file")
	}})
	if _, err := o.endpoint(&w.def, func(s *pipelinefile.Secrets) []pipelinefile.EndpointSecret {
		return s.Notify
	}, 0); err == nil {
		t.Error("sent without its secret")
	}
}
