package observer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	output  = "0123456789012345678901234567890123456789"
	nextTip = "9999999999999999999999999999999999999999"
)

// hub is a GitHub with one repository and its pull requests.
type hub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	pulls map[int]map[string]string // title, body, state; number 1 is the first
	fail  int                       // status of all answers, if not 0
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{pulls: map[int]map[string]string{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *hub) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var body map[string]string
	_ = json.NewDecoder(req.Body).Decode(&body) // lists have none
	at := strings.TrimPrefix(req.URL.Path, "/api/v3/repos/org/monitoring/")
	h.calls = append(h.calls, req.Method+" "+at+" "+
		strings.Join([]string{body["context"], body["state"], body["description"], body["target_url"], body["title"]},
			"|"))
	if h.fail != 0 {
		w.WriteHeader(h.fail)
		return
	}
	switch {
	case strings.HasPrefix(at, "statuses/"):
		fmt.Fprint(w, "{}")
	case at == "pulls" && req.Method == http.MethodGet:
		out := []json.RawMessage{}
		for n := range h.pulls {
			if h.pulls[n]["state"] == "open" {
				out = append(out, h.pull(n))
			}
		}
		_ = json.NewEncoder(w).Encode(out) // the client sees if it is cut
	case at == "pulls":
		n := len(h.pulls) + 1
		body["state"] = "open"
		h.pulls[n] = body
		_, _ = w.Write(h.pull(n))
	case strings.HasPrefix(at, "pulls/"):
		var n int
		fmt.Sscanf(at, "pulls/%d", &n)
		for key, value := range body {
			h.pulls[n][key] = value
		}
		_, _ = w.Write(h.pull(n))
	default:
		fmt.Fprint(w, "[]")
	}
}

func (h *hub) pull(n int) json.RawMessage {
	text, err := json.Marshal(map[string]any{
		"number": n, "title": h.pulls[n]["title"], "body": strings.ReplaceAll(h.pulls[n]["body"], "\n", "\r\n"),
		"state": h.pulls[n]["state"],
		"head":  map[string]any{"ref": "env/prod-next", "sha": nextTip, "repo": map[string]any{"id": 1}},
		"base":  map[string]any{"ref": "env/prod", "repo": map[string]any{"id": 1}},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// take returns the calls since the last take.
func (h *hub) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

// testbed makes outcomes of a pipeline whose repository is on the hub.
type testbed struct {
	hub      *hub
	def      fleet.Definition
	observer *Observer
	log      bytes.Buffer
}

func newTestbed(t *testing.T, change func(*pipeline.Spec)) *testbed {
	t.Helper()
	w := &testbed{hub: newHub(t)}
	w.def.Metadata.Name = "prod-eu"
	w.def.Spec.Sources = []pipeline.Source{
		{URL: "https://git.example.com/org/monitoring", Forge: &pipeline.Forge{Type: pipeline.ForgeGitHub}},
		{URL: "https://git.example.com/org/shared"},
	}
	w.def.Spec.Output.Branch = "env/prod"
	if change != nil {
		change(&w.def.Spec)
	}
	w.restart()
	return w
}

// restart makes another observer, which knows what the one before has reported.
func (w *testbed) restart() {
	access := &forge.Config{
		Type: pipeline.ForgeGitHub, URL: w.hub.URL, Repository: "org/monitoring",
		Token: func(context.Context) (string, error) { return "s3cret", nil },
	}
	old := w.observer
	w.observer = New(Options{
		Sites: &forge.Sites{}, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Secrets: func(*fleet.Definition) (*pipelinefile.Secrets, error) {
			return &pipelinefile.Secrets{Sources: []*forge.Config{access, nil}, Output: access}, nil
		},
	})
	if old != nil {
		w.observer.reported = old.reported
	}
}

// pass reports outcomes, waits until all calls are made, and returns them. Then it makes another observer, because one
// can run only once.
func (w *testbed) pass(t *testing.T, outcomes ...fleet.Outcome) []string {
	t.Helper()
	for _, out := range outcomes {
		w.observer.Passed(t.Context(), out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.observer.Run(ctx); err != nil {
		t.Error(err)
	}
	w.restart()
	return w.hub.take()
}

func (w *testbed) outcome(status metav1.ConditionStatus, reason, text string,
	change func(*fleet.Outcome)) fleet.Outcome {
	out := fleet.Outcome{
		Definition: &w.def, Began: time.Now(),
		Report: &gitsync.Report{
			Pipeline: "prod-eu", Output: gitsync.OutputReport{URL: "https://git.example.com/org/monitoring",
				Branch: "env/prod"},
			Sources: []gitsync.SourceReport{{URL: "https://git.example.com/org/monitoring", Ref: "branch main",
				Commit: commitA}},
			Units: []gitsync.UnitReport{{Name: "a/agent", State: plan.UnitUnchanged}},
		},
		After: fleet.Status{
			Name: "prod-eu", Owned: true, Units: make([]fleet.UnitStatus, 2),
			Conditions: []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: text}},
			Sources: []fleet.SourceStatus{{URL: "https://git.example.com/org/monitoring", Commit: commitA},
				{URL: "https://git.example.com/org/shared", Commit: commitB}},
		},
	}
	if change != nil {
		change(&out)
	}
	return out
}

func pushed(out *fleet.Outcome) {
	out.Report.Commit = output
	out.Report.Units = []gitsync.UnitReport{{Name: "a/agent", State: plan.UnitChanged},
		{Name: "b/agent", State: plan.UnitAdded}}
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestStatusOfInputCommitsIsSetOncePerChange(t *testing.T) {
	w := newTestbed(t, nil)
	ok := metav1.ConditionTrue
	status := "POST statuses/" + commitA + " agentry/prod-eu|"
	check(t, "a push", w.pass(t, w.outcome(ok, meta.SucceededReason, "", pushed)),
		status+"success|2 units rendered: 1 added, 1 changed|"+w.hub.URL+"/org/monitoring/commit/"+output+"|")
	check(t, "the next pass, which has nothing to do", w.pass(t, w.outcome(ok, meta.SucceededReason, "", nil)))
	held := w.outcome(metav1.ConditionFalse, meta.BuildFailedReason, "", func(o *fleet.Outcome) {
		o.After.Held = []fleet.HeldStatus{{Object: "Probe/a/b", Reason: fleet.Finding{Message: "unknown field"}},
			{Object: "Probe/a/c"}}
	})
	check(t, "held", w.pass(t, held), status+"failure|2 objects are held: Probe/a/b: unknown field||")
	check(t, "held still", w.pass(t, held, held))
	check(t, "fails", w.pass(t, w.outcome(metav1.ConditionFalse, meta.FailedReason, "connection refused", nil)),
		status+"pending|connection refused||")
	stalled := w.outcome(metav1.ConditionFalse, meta.FailedReason, "x", func(o *fleet.Outcome) {
		o.After.Conditions = append(o.After.Conditions,
			metav1.Condition{Type: meta.StalledCondition, Status: ok, Message: "the branch is protected"})
	})
	check(t, "stalled", w.pass(t, stalled), status+"failure|the branch is protected||")
	check(t, "well again", w.pass(t, w.outcome(ok, meta.SucceededReason, "", nil)),
		status+"success|2 units rendered, no changes||")
	moved := w.outcome(ok, meta.SucceededReason, "", func(o *fleet.Outcome) { o.After.Sources[0].Commit = commitB })
	check(t, "another commit", w.pass(t, moved),
		"POST statuses/"+commitB+" agentry/prod-eu|success|2 units rendered, no changes||")
}

func TestStatusIsNotSetWhereNothingIsKnown(t *testing.T) {
	for name, change := range map[string]func(*fleet.Outcome){
		"another replica runs it": func(o *fleet.Outcome) { o.After.Owned = false },
		"it is gone":              func(o *fleet.Outcome) { o.Removed = true },
		"it starts": func(o *fleet.Outcome) {
			o.After.Conditions[0].Reason = meta.ProgressingReason
		},
		"the source stays at its base": func(o *fleet.Outcome) { o.After.Sources[0].Stale = true },
		"the source was never read":    func(o *fleet.Outcome) { o.After.Sources[0].Commit = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(t, nil)
			check(t, "calls", w.pass(t, w.outcome(metav1.ConditionUnknown, meta.SucceededReason, "",
				func(o *fleet.Outcome) {
					o.After.Conditions[0].Status = metav1.ConditionTrue
					change(o)
					if o.After.Conditions[0].Reason == meta.ProgressingReason {
						o.After.Conditions[0].Status = metav1.ConditionUnknown
					}
				})))
		})
	}
}

func TestNothingIsPublishedByAPassiveReplica(t *testing.T) {
	w := newTestbed(t, nil)
	out := w.outcome(metav1.ConditionTrue, meta.SucceededReason, "", nil)
	w.observer.options.MayPublish = func() bool { return false }
	check(t, "held by another one", w.pass(t, out))
	if calls := w.pass(t, out); len(calls) != 1 {
		t.Errorf("held here again: %q", calls)
	}
}

func TestStatusThatIsRefusedIsTriedWithTheNextPass(t *testing.T) {
	w := newTestbed(t, nil)
	w.hub.fail = http.StatusUnprocessableEntity
	out := w.outcome(metav1.ConditionTrue, meta.SucceededReason, "", nil)
	for range 2 {
		if calls := w.pass(t, out); len(calls) != 1 {
			t.Errorf("calls %q", calls)
		}
	}
	if !strings.Contains(w.log.String(), "422 Unprocessable Entity") || strings.Contains(w.log.String(), "s3cret") {
		t.Errorf("log: %s", &w.log)
	}
}

func proposes(spec *pipeline.Spec) {
	spec.Sources[0].Forge = nil
	spec.Output.Promotion = pipeline.Promotion{Mode: pipeline.PromotePullRequest,
		Title: "{{ .Pipeline }} to {{ (index .Sources 0).Commit | short }}"}
}

// proposal makes an outcome that proposes a commit on top of the output commit.
func (w *testbed) proposal(commit string) fleet.Outcome {
	return w.outcome(metav1.ConditionTrue, meta.SucceededReason, "", func(o *fleet.Outcome) {
		o.Report.Units = []gitsync.UnitReport{
			{Name: "a/agent", State: plan.UnitChanged}, {Name: "b/agent", State: plan.UnitUnchanged},
			{Name: "c/agent", State: plan.UnitHeld, Reason: "c.yaml:3: @everyone look"},
		}
		o.Report.Held = []plan.HeldObject{{
			Object: manifest.ID{Kind: "Probe", Namespace: "c", Name: "p"}, As: branch.CommitRef{Commit: commitB},
			Reason: diag.Diagnostic{File: "c.yaml", Line: 3, Message: "unknown field `x`"},
		}}
		o.Report.Difference = changed("spec: {replicas: 1}\n", "spec: {replicas: 2}\n").Shorten()
		o.Report.Proposed = &gitsync.Proposal{
			Branch: "env/prod-next", Base: output, Commit: commit,
			Data: pipeline.Message{Pipeline: "prod-eu",
				Sources: []pipeline.MessageSource{{Commit: commitA, Subject: "Add a probe"}}},
		}
	})
}

// changed returns the difference of a changed StatefulSet.
func changed(before, after string) *difference.Difference {
	return difference.Compare([]difference.Pair{{
		Unit: "a/agent", ID: manifest.ID{Kind: "StatefulSet", Namespace: "a", Name: "agent"},
		Before: difference.Version{Text: []byte(before)}, After: difference.Version{Text: []byte(after)},
	}})
}

const wantBody = "Merging this updates `env/prod` to the output rendered from:\n\n" +
	"- `https://git.example.com/org/monitoring` `branch main` at `" + commitA + "`\n" +
	"\n**1 object changed**\n\n### The number of pods changes\n\n- `StatefulSet a/agent: from 1 to 2`\n" +
	"\n### Units\n\n- `a/agent` changed\n- `c/agent`: is left unchanged, `c.yaml:3: @everyone look`\n" +
	"\n### Held\n\n- `Probe/c/p` stays as of `bbbbbbb`: `c.yaml:3` `` unknown field `x` ``\n" +
	"\n### Objects\n\n```\n~ StatefulSet a/agent\n  ~ spec.replicas: 1 → 2\n```\n" +
	"\nThis pull request follows the pipeline `prod-eu`: its branch is rebuilt when the inputs change, and it is " +
	"closed when there is nothing to merge.\n"

func TestPullRequestFollowsWhatIsProposed(t *testing.T) {
	w := newTestbed(t, proposes)
	const list = "GET pulls ||||"
	check(t, "nothing to propose", w.pass(t, w.proposal(output)), list)
	check(t, "still nothing", w.pass(t, w.proposal(output)))
	check(t, "a proposal", w.pass(t, w.proposal(nextTip)), list, "POST pulls ||||prod-eu to aaaaaaa")
	if diff := cmp.Diff(wantBody, w.hub.pulls[1]["body"]); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	check(t, "the same", w.pass(t, w.proposal(nextTip)))
	other := w.proposal(commitB)
	check(t, "rebuilt with the same text", w.pass(t, other), list)
	other.Report.Proposed.Commit, other.Report.Held = commitA, nil
	check(t, "rebuilt with another text", w.pass(t, other), list, "PATCH pulls/1 ||||prod-eu to aaaaaaa")
	check(t, "a dry run, a failure and a refusal", w.pass(t,
		w.outcome(metav1.ConditionTrue, meta.SucceededReason, "", func(o *fleet.Outcome) {
			o.Report.Proposed, o.Report.DryRun = &gitsync.Proposal{Base: output, Commit: output}, true
		}),
		w.outcome(metav1.ConditionFalse, meta.FailedReason, "", func(o *fleet.Outcome) {
			o.Report.Proposed, o.Err = &gitsync.Proposal{Base: output, Commit: output}, errors.New("unreachable")
		}),
		w.outcome(metav1.ConditionFalse, meta.BuildFailedReason, "", func(o *fleet.Outcome) {
			o.Report.Proposed = &gitsync.Proposal{Base: output}
		})))
	check(t, "taken back", w.pass(t, w.proposal(output)), list, "PATCH pulls/1 |closed|||")
	check(t, "proposed again", w.pass(t, w.proposal(nextTip)), list, "POST pulls ||||prod-eu to aaaaaaa")
}

func TestTitlesThatFailOnTheDataDoNotStopThePullRequest(t *testing.T) {
	w := newTestbed(t, proposes)
	for template, want := range map[string]string{
		"":                             "Render prod-eu: Add a probe",
		"{{ (index .Sources 7).URL }}": "Render prod-eu",
		"two\nlines":                   "two",
	} {
		if got := title(template, w.proposal(nextTip).Report); got != want {
			t.Errorf("%q: got %q", template, got)
		}
	}
}

func TestWhatIsListedInAPullRequestHasALimit(t *testing.T) {
	r := &gitsync.Report{}
	for i := range 1000 {
		r.Units = append(r.Units, gitsync.UnitReport{Name: fmt.Sprint("u", i), State: plan.UnitChanged})
	}
	long := strings.Repeat("x", 100)
	var labels strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&labels, "l%d: %s\n", i, long)
	}
	r.Difference = changed("a: b\n", labels.String()).Shorten()
	text := body(r)
	for _, want := range []string{"- `u99` changed\n- and 900 more\n", "\nObjects not shown for lack of space: 1.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
