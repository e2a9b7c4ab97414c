package preview

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/test/gittest"
)

// hub simulates GitHub with a real repository.
type hub struct {
	*httptest.Server
	t   *testing.T
	git *gittest.Repo

	mu       sync.Mutex
	pulls    []map[string]any
	comments map[int][]map[string]any
	statuses []string
	calls    int
	listed   chan struct{}
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, git: gittest.NewRepo(t), comments: map[int][]map[string]any{}, listed: make(chan struct{}, 100)}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *hub) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	var body map[string]any
	_ = json.NewDecoder(req.Body).Decode(&body) // requests for lists have no body
	at := strings.TrimPrefix(req.URL.Path, "/api/v3/repos/org/monitoring/")
	var out any = map[string]any{}
	var n, id int
	switch {
	case at == "pulls":
		out = h.pulls
		select {
		case h.listed <- struct{}{}:
		default:
		}
	case strings.HasPrefix(at, "statuses/"):
		h.statuses = append(h.statuses,
			fmt.Sprintf("%s %s %s: %s", strings.TrimPrefix(at, "statuses/")[:7], body["context"], body["state"],
				body["description"]))
	case sscan(at, "issues/%d/comments", &n) && req.Method == http.MethodGet:
		out = h.comments[n]
		if h.comments[n] == nil {
			out = []any{}
		}
	case sscan(at, "issues/%d/comments", &n):
		body["id"] = n*100 + len(h.comments[n])
		h.comments[n] = append(h.comments[n], body)
		out = body
	case sscan(at, "issues/comments/%d", &id):
		h.comments[id/100][id%100]["body"] = body["body"]
	default:
		h.t.Errorf("unexpected %s %s", req.Method, at)
	}
	_ = json.NewEncoder(w).Encode(out) // the client notices if it is cut off
}

func sscan(text, format string, n *int) bool {
	_, err := fmt.Sscanf(text, format, n)
	return err == nil
}

// open opens a pull request with changes on top of a branch, or pushes to it again.
func (h *hub) open(number int, from string, fork bool, files map[string]string) (head string) {
	h.t.Helper()
	work := fmt.Sprintf("work-%d", number)
	h.git.Git("update-ref", "refs/heads/"+work, "refs/heads/"+from)
	head = h.git.Commit(work, files)
	h.git.Git("update-ref", fmt.Sprintf("refs/pull/%d/head", number), head)
	id := 1
	if fork {
		id = 2
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulls = slices.DeleteFunc(h.pulls, func(p map[string]any) bool { return p["number"] == number })
	h.pulls = append(h.pulls, map[string]any{
		"number": number, "html_url": "https://github.example.com/pull",
		"head": map[string]any{"ref": work, "sha": head, "repo": map[string]any{"id": id}},
		"base": map[string]any{"ref": "main", "repo": map[string]any{"id": 1}},
	})
	return head
}

// comment returns the only comment of a pull request.
func (h *hub) comment(number int) string {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.comments[number]) != 1 {
		h.t.Fatalf("%d comments in #%d", len(h.comments[number]), number)
	}
	return h.comments[number][0]["body"].(string)
}

// take returns the statuses and the number of calls since the last take.
func (h *hub) take() ([]string, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, n := h.statuses, h.calls
	h.statuses, h.calls = nil, 0
	return out, n
}

const agent = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: a}
spec:
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: a}
spec:
  serviceMonitorSelector: {}
  remoteWrite:
  - url: "http://mimir/push"
    basicAuth: {username: {name: mimir, key: user}, password: {name: mimir, key: password}}
`

func secret(password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: mimir, namespace: a}\nstringData: {user: writer, password: " + password + "}\n"
}

func monitor(port string) string {
	return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: api, namespace: a}\nspec:\n" +
		"  selector: {matchLabels: {app: api}}\n  endpoints: [{port: " + port + "}]\n"
}

// lab is a pipeline over the hub's repository.
type lab struct {
	*hub
	def fleet.Definition
	p   *Previewer
}

func newLab(t *testing.T, change func(*pipeline.Spec)) *lab {
	t.Helper()
	l := &lab{hub: newHub(t)}
	l.git.Commit("main", map[string]string{"agent.yaml": agent, "secret.yaml": secret("0ld-s3cret"),
		"monitor.yaml": monitor("web")})
	l.def.APIVersion, l.def.Kind, l.def.Metadata.Name = pipeline.APIVersion, pipeline.Kind, "prod-eu"
	l.def.Spec.Sources = []pipeline.Source{{
		URL: l.git.Dir, Ref: pipeline.Ref{Branch: "main"},
		Forge: &pipeline.Forge{Type: pipeline.ForgeGitHub, URL: l.URL}, Previews: &pipeline.Previews{},
	}}
	l.def.Spec.Output.Branch = "env/prod"
	l.def.Spec.Secrets.Policy = secretref.Plaintext
	if change != nil {
		change(&l.def.Spec)
	}
	l.def.Default()
	l.def.Credentials = func() (gitsync.Credentials, error) {
		return gitsync.Credentials{Sources: make([]transport.Auth, len(l.def.Spec.Sources)),
			Sealing: gitsync.Sealing{Key: bytes.Repeat([]byte("k"), 32)}}, nil
	}
	pool := repo.NewPool(t.TempDir(), repo.Options{})
	t.Cleanup(pool.Close)
	access := &forge.Config{Type: pipeline.ForgeGitHub, URL: l.URL, Repository: "org/monitoring"}
	l.p = New(Options{Sites: &forge.Sites{}, Pool: pool, Version: "v0.0.0-test",
		Secrets: func(*fleet.Definition) (*pipelinefile.Secrets, error) {
			return &pipelinefile.Secrets{Sources: slices.Repeat([]*forge.Config{access}, len(l.def.Spec.Sources))}, nil
		}})
	l.pass(nil)
	return l
}

// pass reports a pass to the previewer.
func (l *lab) pass(change func(*fleet.Outcome)) {
	out := fleet.Outcome{Definition: &l.def, After: fleet.Status{Name: "prod-eu", Owned: true}}
	if change != nil {
		change(&out)
	}
	l.p.Passed(context.Background(), out)
}

// round runs the rounds that are due.
func (l *lab) round() {
	l.t.Helper()
	l.p.Trigger("")
	for _, w := range l.p.schedule.watches {
		w.due = time.Time{}
	}
	for {
		due, ok, _ := l.p.schedule.next()
		if !ok {
			return
		}
		l.p.round(l.t.Context(), due)
	}
}

// sync makes a real pass of the pipeline.
func (l *lab) sync() {
	l.t.Helper()
	s, err := gitsync.New(l.def.Pipeline, gitsync.Credentials{Sources: make([]transport.Auth, len(l.def.Spec.Sources))},
		gitsync.Options{CacheDir: l.t.TempDir()})
	if err != nil {
		l.t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Pass(l.t.Context()); err != nil || r.Commit == "" {
		l.t.Fatalf("%v, %v", r, err)
	}
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPullRequestShowsItsChangesInAComment(t *testing.T) {
	l := newLab(t, nil)
	l.sync()
	refs := l.git.Git("for-each-ref", "refs/heads/env", "refs/notes")
	head := l.open(7, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	statuses, _ := l.take()
	check(t, "statuses", statuses, head[:7]+" agentry/prod-eu/preview success: 1 object changed")
	text := l.comment(7)
	for _, want := range []string{
		"<!-- agentry:preview:prod-eu -->\n### agentry: `prod-eu`\n\n**1 object changed** with `" + head[:7] +
			"`, compared with `" + l.git.Git("rev-parse", "main")[:7] +
			"`. Nothing is pushed for this.\n\n### Pods reload their configuration, without a restart\n\n" +
			"- `StatefulSet a/agent`\n",
		"- `instance a/main > job serviceMonitor/a/api/0: label endpoint`\n",
		"\n```\n~ Secret a/agent-config\n  ~ instance a/main > job serviceMonitor/a/api/0\n" +
			"    ~ relabel rule 3 > regex: web → metrics\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
	if now := l.git.Git("for-each-ref", "refs/heads/env", "refs/notes"); now != refs {
		t.Errorf("something was pushed:\n%s\n%s", refs, now)
	}

	l.round()
	if statuses, calls := l.take(); len(statuses) != 0 || calls != 1 {
		t.Errorf("the same head: %q, %d calls", statuses, calls)
	}
	head = l.open(7, "main", false, map[string]string{"README.md": "no change\n"})
	l.round()
	statuses, _ = l.take()
	check(t, "statuses", statuses, head[:7]+" agentry/prod-eu/preview success: No changes")
	if text := l.comment(7); !strings.Contains(text, "**No changes** with `"+head[:7]+"`") ||
		strings.Contains(text, "diff") {
		t.Errorf("stale comment:\n%s", text)
	}
}

// TestAllSourcesOfABranchMove: merging a pull request moves all of them, so there is one preview with all changes.
func TestAllSourcesOfABranchMove(t *testing.T) {
	l := newLab(t, func(s *pipeline.Spec) {
		second := s.Sources[0]
		s.Sources[0].Paths, second.Paths = []string{"agent.yaml", "secret.yaml"}, []string{"monitor.yaml"}
		s.Sources = append(s.Sources, second)
	})
	l.sync()
	head := l.open(7, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	statuses, _ := l.take()
	check(t, "statuses", statuses, head[:7]+" agentry/prod-eu/preview success: 1 object changed")
	if text := l.comment(7); !strings.Contains(text, "regex: web → metrics") {
		t.Errorf("the change of the second source is missing:\n%s", text)
	}
}

func TestSecretsAreShownByKeyUnderEveryPolicy(t *testing.T) {
	for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference,
		secretref.SOPS} {
		t.Run(string(policy), func(t *testing.T) {
			l := newLab(t, func(s *pipeline.Spec) {
				if s.Secrets.Policy = policy; policy == secretref.SOPS {
					s.Secrets.SOPS = &pipeline.SOPS{
						Age:        []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"},
						HMACKeyEnv: "KEY"}
				}
			})
			l.open(1, "main", false, map[string]string{"secret.yaml": secret("n3w-s3cret"),
				"monitor.yaml": monitor("metrics")})
			l.round()
			text := l.comment(1)
			if strings.Contains(text, "s3cret") || strings.Contains(text, "bjN3LXMzY3JldA") ||
				strings.Contains(text, "MGxkLXMzY3JldA") {
				t.Errorf("the comment shows a secret:\n%s", text)
			}
			if !strings.Contains(text, "regex: web → metrics") {
				t.Errorf("the comment does not show the configuration:\n%s", text)
			}
		})
	}
}

func TestOnlyASecretChanges(t *testing.T) {
	l := newLab(t, nil)
	l.open(1, "main", false, map[string]string{"secret.yaml": secret("n3w-s3cret")})
	l.round()
	if text := l.comment(1); !strings.Contains(text,
		"~ Secret a/agent-secrets\n  ~ data._secrets_a_mimir_password: <redacted>, changed\n") ||
		strings.Contains(text, "s3cret") {
		t.Errorf("comment:\n%s", text)
	}
}

func TestErrorsAreShownWithTheirPositions(t *testing.T) {
	l := newLab(t, nil)
	l.sync()
	head := l.open(3, "main", false,
		map[string]string{"monitor.yaml": strings.Replace(monitor("web"), "port: web", "port: web, interval: never",
			1)})
	l.round()
	statuses, _ := l.take()
	if len(statuses) != 1 || !strings.HasPrefix(statuses[0],
		head[:7]+" agentry/prod-eu/preview failure: 1 object would be held, ") {
		t.Errorf("statuses %q", statuses)
	}
	text := l.comment(3)
	for _, want := range []string{"### Held\n\n- `ServiceMonitor/a/api` stays as of",
		"### Findings\n\n- error `monitor.yaml:6:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
}

func TestPullRequestsThatAreLeftAlone(t *testing.T) {
	l := newLab(t, nil)
	l.open(1, "main", true, map[string]string{"monitor.yaml": monitor("fork")})
	l.open(2, "main", false, map[string]string{"README.md": "no change\n"})
	l.round()
	statuses, _ := l.take()
	if len(statuses) != 1 || !strings.HasSuffix(statuses[0], "success: No changes") || len(l.comments) != 0 {
		t.Errorf("statuses %q, comments %v", statuses, l.comments)
	}
	l.def.Spec.Sources[0].Previews = &pipeline.Previews{Forks: true}
	l.round()
	if text := l.comment(1); !strings.Contains(text, "1 object changed") {
		t.Errorf("a fork that is allowed:\n%s", text)
	}
}

func TestPipelinesOverOneRepositoryListItsPullRequestsOnce(t *testing.T) {
	l := newLab(t, nil)
	other := l.def
	other.Metadata.Name = "prod-us"
	other.Spec.Output.Branch = "env/us"
	l.p.Passed(t.Context(), fleet.Outcome{Definition: &other, After: fleet.Status{Name: "prod-us", Owned: true}})
	l.open(2, "main", false, map[string]string{"README.md": "no change\n"})
	l.round()
	statuses, calls := l.take()
	slices.Sort(statuses)
	if len(statuses) != 2 || !strings.Contains(statuses[0], "agentry/prod-eu/preview") ||
		!strings.Contains(statuses[1], "agentry/prod-us/preview") {
		t.Errorf("statuses %q", statuses)
	}
	if calls != 5 { // one list, and for each pipeline the comments and a status
		t.Errorf("%d calls", calls)
	}
	l.round()
	if _, calls := l.take(); calls != 1 {
		t.Errorf("%d calls after a trigger", calls)
	}
}

func TestPassiveReplicasMakeNoPreviews(t *testing.T) {
	l := newLab(t, nil)
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.p.options.MayPublish = func() bool { return false }
	l.round()
	if _, calls := l.take(); calls != 0 {
		t.Errorf("%d calls", calls)
	}
}

// TestNothingIsPublishedIfAnotherReplicaTakesOverDuringTheRender: the preview ends without publishing.
func TestNothingIsPublishedIfAnotherReplicaTakesOverDuringTheRender(t *testing.T) {
	l := newLab(t, nil)
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	l.take()
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("other")})
	var rendered bool
	l.p.options.Gate = func(context.Context) (func(), error) { rendered = true; return func() {}, nil }
	l.p.options.MayPublish = func() bool { return !rendered }
	l.round()
	if statuses, _ := l.take(); len(statuses) > 0 || !rendered || strings.Contains(l.comment(1), "→ other") {
		t.Errorf("rendered: %v, told: %q", rendered, statuses)
	}
}

// TestAPanicEndsOnePreviewAndNothingElse: the next pull request is previewed, and this one after its next push.
func TestAPanicEndsOnePreviewAndNothingElse(t *testing.T) {
	l := newLab(t, nil)
	var log bytes.Buffer
	l.p.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("one")})
	l.open(2, "main", false, map[string]string{"monitor.yaml": monitor("two")})
	gates := 0
	l.p.options.Gate = func(context.Context) (func(), error) {
		if gates++; gates == 2 { // the first renders the base
			panic("the password is hunter2")
		}
		return func() {}, nil
	}
	l.round()
	if len(l.comments[1]) > 0 || !strings.Contains(l.comment(2), "two") {
		t.Errorf("comments %v", l.comments)
	}
	if text := log.String(); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, "msg=panic during=preview of=prod-eu value=string") {
		t.Error(text)
	}
	l.round()
	if _, calls := l.take(); gates != 4 || calls == 0 {
		t.Errorf("gates passed: %d; what panicked is rendered over and over", gates)
	}
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("three")})
	l.round()
	if !strings.Contains(l.comment(1), "three") {
		t.Errorf("comments %v", l.comments)
	}
}

func TestCommentAndStatusCanBeTurnedOff(t *testing.T) {
	off := false
	l := newLab(t, func(s *pipeline.Spec) { s.Sources[0].Previews = &pipeline.Previews{Comment: &off, Status: &off} })
	l.open(1, "main", false, map[string]string{"monitor.yaml": monitor("metrics")})
	l.round()
	if _, calls := l.take(); calls != 1 {
		t.Errorf("%d calls, want only the list", calls)
	}
}

func TestRunListsWhenItIsTriggeredAndStopsForPipelinesThatAreGone(t *testing.T) {
	l := newLab(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := l.p.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	<-l.listed // at its start
	l.p.Trigger("git.example.com/somebody/else")
	l.p.schedule.mu.Lock()
	if w := l.p.schedule.watches[watchKey{"prod-eu", 0}]; time.Until(w.due) < DefaultInterval/2 {
		t.Errorf("another repository's webhook makes it due in %s", time.Until(w.due))
	}
	l.p.schedule.mu.Unlock()
	l.p.Trigger(pipeline.RepositoryAddress(l.git.Dir))
	l.p.schedule.mu.Lock()
	if w := l.p.schedule.watches[watchKey{"prod-eu", 0}]; time.Until(w.due) > minGap {
		t.Errorf("its webhook makes it due in %s", time.Until(w.due))
	}
	l.p.schedule.mu.Unlock()
	for name, change := range map[string]func(*fleet.Outcome){
		"removed":           func(o *fleet.Outcome) { o.Removed = true },
		"another replica's": func(o *fleet.Outcome) { o.After.Owned = false },
	} {
		l.pass(nil)
		l.pass(change)
		if len(l.p.schedule.watches) != 0 {
			t.Errorf("%s: still followed", name)
		}
	}
	cancel()
	<-ended
}
