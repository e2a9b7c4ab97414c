package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/gittest"
)

// outside is a forge, and a receiver of events. It records what it gets, and repeats the request's header in errors.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	told  strings.Builder
	pulls string // JSON
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{pulls: "[]"}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // what came counts
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintf(&o.told, "%s %s\n%s\n", req.Method, req.URL, body)
	w.Header().Set("Content-Type", "application/json")
	switch at := strings.TrimPrefix(req.URL.Path, "/api/v1/repos/org/monitoring"); {
	case at == "/pulls" && req.URL.Query().Get("page") == "1":
		_, _ = io.WriteString(w, o.pulls)
	case req.Method == http.MethodGet && at != req.URL.Path:
		_, _ = io.WriteString(w, "[]")
	case at == "/issues/1/comments":
		_, _ = io.WriteString(w, `{"id": 1}`)
	default:
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "denied: "+req.Header.Get("Authorization"))
	}
}

func (o *outside) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told.String()
}

const canaryServed = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  sources:
    - url: GIT/org/monitoring.git
      ref: {branch: main}
      paths: [in]
      auth: {usernameFile: user, passwordFile: password}
      webhook: {type: generic, secretFile: hook}
      forge: {type: gitea, url: FORGE, tokenFile: forge}
      previews: {interval: 10s}
  output: {branch: environments/prod, receivers: [{url: FORGE/receiver, secretFile: receiver}]}
  secrets: {policy: plaintext, restartOnChange: true}
  notify: [{url: FORGE/event, secretFile: events}]
---
apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: refused}
spec:
  sources:
    - url: FORGE/org/other.git
      ref: {branch: main}
      auth: {usernameFile: user, passwordFile: other}
  output: {branch: environments/refused}
  notify: [{url: FORGE/event, secretFile: events}]
`

// canaryLogin is a Secret in Git, which the policy plaintext renders.
const canaryLogin = `apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: CANARY, password: CANARY}
`

// TestNoSecretOfAServiceGetsOut runs a service whose inputs, credentials and keys are secrets, with a pull request, a
// server that refuses the password and a forge that refuses commit statuses. No log, page, metric, answer, comment or
// event contains a secret, and no file of the cache.
func TestNoSecretOfAServiceGetsOut(t *testing.T) {
	secrets := &canaries{forms: map[string]string{}}
	root, around := t.TempDir(), newOutside(t)
	w := &served{t: t, repo: gittest.NewRepoAt(t, filepath.Join(root, "org", "monitoring.git")), config: t.TempDir(),
		cache: t.TempDir()}
	instance := canaryInstance + `
  remoteWrite:
  - url: https://h/push
    basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}
`
	w.repo.Commit("main", map[string]string{"in/agent.yaml": canaryAgent, "in/instance.yaml": instance,
		"in/login.yaml": secrets.hide(canaryLogin)})
	w.repo.Git("update-ref", "refs/heads/change", "refs/heads/main")
	broken := strings.Replace(canaryInstance, "main", "new", 1) +
		"\n  remoteWrite: [{url: \"https://h\", bearerToken: NUMBER}]\n"
	head := w.repo.Commit("change", map[string]string{
		"in/login.yaml": secrets.hide(canaryLogin), "in/new.yaml": secrets.hide(broken),
		"in/values.yaml": secrets.hide("password: \"CANARY\n"),
	})
	w.repo.Git("update-ref", "refs/pull/1/head", head)
	around.pulls = fmt.Sprintf(
		`[{"number": 1, "head": {"ref": "change", "sha": %q, "repo_id": 1}, "base": {"ref": "main", "repo_id": 1}}]`,
		head)
	password := secrets.hide("CANARY")
	git := gittest.NewHTTP(t, root, gittest.HTTPOptions{User: "bot", Password: password})
	for name, text := range map[string]string{
		"user": "bot", "password": password, "hook": secrets.hide("CANARY"), "forge": secrets.hide("CANARY"),
		"other":  secrets.hide("CANARY"),
		"events": secrets.hide("CANARY"), "receiver": secrets.hide("CANARY"),
	} {
		w.write(name, text+"\n")
	}
	w.write("pipelines.yaml", strings.NewReplacer("GIT", git.URL, "FORGE", around.URL).Replace(canaryServed))
	w.start()
	w.until("rendered and refused", func(p server.Pipelines) bool {
		return len(p.Items) == 2 && allReady(p.Items[:1]) &&
			p.Items[1].Condition(meta.ReadyCondition).Status == metav1.ConditionFalse
	})
	for !strings.Contains(around.text(), "POST /api/v1/repos/org/monitoring/issues/1/comments") ||
		!strings.Contains(around.text(), "POST /event") {
		select {
		case <-t.Context().Done():
			t.Fatalf("no comment and no event:\n%s", around.text())
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, path := range []string{"/", "/api/v1/pipelines", "/api/v1/pipelines/prod", "/api/v1/pipelines/refused",
		"/api/v1/remotes", "/metrics"} {
		secrets.check(t, path, w.get(path))
	}
	for _, args := range []string{"trigger prod", "trigger refused --timeout 2s", "status", "status refused",
		"status prod", "status --format json"} {
		_, out := w.run(strings.Fields(args)...)
		secrets.check(t, args, out)
	}
	w.hook("wrong", "{}")
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for line := range w.lines {
		fmt.Fprintln(&log, line)
	}
	if !strings.Contains(log.String(), "denied: ") {
		t.Errorf("the log does not say what servers say:\n%s", log.String())
	}
	secrets.check(t, "the log", log.String())
	secrets.check(t, "what others are told", around.text())
	secrets.checkFolder(t, w.cache)
}
