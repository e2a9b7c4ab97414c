package cli

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/gittest"
)

const hookSecret = "the secret of the hook"

// served is a running agentry serve, and the Git server of its pipelines.
type served struct {
	t             *testing.T
	cmd           *exec.Cmd
	repo          *gittest.Repo
	repository    string // its URL
	config, cache string // folders
	env           []string
	admin, hooks  string // URLs
	lines         chan logLine
}

// logLine is a line of the log.
type logLine map[string]any

// serveTestbed starts a service with one pipeline, waits until it is ready, and ends it when the
// test does.
func serveTestbed(t *testing.T) *served {
	t.Helper()
	w := &served{t: t, repo: gittest.NewRepo(t), config: t.TempDir(), cache: t.TempDir()}
	w.repository, _ = w.repo.ServeHTTP(gittest.HTTPOptions{})
	w.commit("10s")
	w.write("hook.secret", hookSecret+"\n")
	w.write("prod.yaml", w.pipeline("prod", "1h"))
	w.start()
	w.until("ready", func(p server.Pipelines) bool { return len(p.Items) == 1 && allReady(p.Items) })
	return w
}

// commit changes a monitor of the inputs.
func (w *served) commit(interval string) string {
	return w.repo.Commit(
		"main", map[string]string{"in/agent.yaml": fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: shop}
spec:
  metrics:
    instanceSelector: {}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: shop}
spec:
  serviceMonitorSelector: {}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: cart, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  endpoints: [{port: http, interval: %s}]
`, interval)})
}

func (w *served) pipeline(name, interval string) string {
	return fmt.Sprintf(`apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: %s}
spec:
  interval: %s
  sources:
    - url: %s
      ref: {branch: main}
      paths: [in]
      webhook: {type: generic, secretFile: hook.secret}
  output: {branch: environments/%s}
`, name, interval, w.repository, name)
}

func (w *served) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.config, name)
	if err := os.WriteFile(file+".tmp", []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		w.t.Fatal(err)
	}
}

func (w *served) start() {
	w.t.Helper()
	w.cmd = exec.Command("agentry", "serve", "-f", w.config, "--cache-dir", w.cache, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0",
		"--log-format", "json", "--log-level", "debug")
	w.cmd.Env = append(os.Environ(), w.env...)
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	})
	w.lines = make(chan logLine, 10_000)
	go func() {
		defer close(w.lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			var line logLine
			if json.Unmarshal(scanner.Bytes(), &line) != nil {
				line = logLine{"msg": scanner.Text()}
			}
			w.lines <- line
		}
	}()
	line := w.line("started")
	w.admin, w.hooks = fmt.Sprintf("http://%s", line["admin"]), fmt.Sprintf("http://%s", line["listen"])
}

// line waits for a message in the log.
func (w *served) line(message string) logLine {
	w.t.Helper()
	var seen strings.Builder
	for line := range w.lines {
		fmt.Fprintln(&seen, line)
		if line["msg"] == message {
			return line
		}
	}
	w.t.Fatalf("the service ended without the line %q:\n%s", message, seen.String())
	return nil
}

// until asks the service until its pipelines are as wanted, or until the time limit of the test.
func (w *served) until(what string, good func(server.Pipelines) bool) server.Pipelines {
	w.t.Helper()
	for {
		var out server.Pipelines
		if err := json.Unmarshal([]byte(w.get("/api/v1/pipelines")), &out); err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		if good(out) {
			return out
		}
		if w.t.Context().Err() != nil {
			w.t.Fatalf("never %s: %+v", what, out)
		}
	}
}

func (w *served) get(path string) string {
	w.t.Helper()
	answer, err := http.Get(w.admin + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s %v %s", path, answer.Status, err, text)
	}
	return string(text)
}

// hook sends a webhook, and returns the status.
func (w *served) hook(secret, body string) int {
	w.t.Helper()
	path := "/hook/generic/" + pipeline.RepositoryAddress(w.repository)
	r, err := http.NewRequest(http.MethodPost, w.hooks+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	// No connection waits in a pool: the server may close one just when a POST, which is not repeated, begins to use
	// it.
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// run runs agentry against the service, and returns the exit code and what it prints.
func (w *served) run(args ...string) (int, string) {
	w.t.Helper()
	out, err := exec.Command("agentry", append(args, "--address", w.admin)...).CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode(), string(out)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return command.ExitDone, string(out)
}

// rendered waits until the agent's configuration on a pipeline's output branch contains a text, and the status of the
// service says so.
func (w *served) rendered(pipeline, text string) {
	w.t.Helper()
	w.until(pipeline+" has rendered "+text, func(p server.Pipelines) bool {
		for _, s := range p.Items {
			if s.Name == pipeline && s.Output != nil && s.Output.Commit != "" {
				return strings.Contains(w.repo.Git("show", s.Output.Commit+":shop/agent/agent-config.secret.yaml"),
					text)
			}
		}
		return false
	})
}

// metric is the value of a series.
func (w *served) metric(series string) string {
	w.t.Helper()
	for line := range strings.Lines(w.get("/metrics")) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// passes is how many passes the first pipeline's status tells of. Metrics are counted a moment after the status says
// that a pass has ended.
func (w *served) passes() (made int64) {
	w.t.Helper()
	all := w.until("there is a pipeline", func(p server.Pipelines) bool { return len(p.Items) > 0 })
	for _, snapshot := range all.Items[0].History {
		made += snapshot.TotalReconciliations
	}
	return made
}

// TestServe follows a service from its start to its end. Its interval is an hour, so that no poll interferes.
func TestServe(t *testing.T) {
	t.Parallel()
	w := serveTestbed(t)
	w.rendered("prod", "scrape_interval: 10s")

	// A push and its webhook move the output branch; a wrong secret does not.
	w.commit("20s")
	if got := w.hook("another secret", "1"); got != http.StatusNotFound {
		t.Errorf("a wrong secret got %d", got)
	}
	if got := w.hook(hookSecret, "1"); got != http.StatusAccepted {
		t.Errorf("a webhook got %d", got)
	}
	w.rendered("prod", "scrape_interval: 20s")
	if got := w.metric(`agentry_webhook_requests_total{result="accepted",source="generic"}`); got != "1" {
		t.Errorf("%q webhooks are counted", got)
	}

	// A person asks for the status, and triggers a pass.
	code, text := w.run("status")
	if code != command.ExitDone || !strings.Contains(text, "prod ") ||
		!strings.Contains(text, "environments/prod@sha1:"+w.repo.Head("environments/prod")[:8]) {
		t.Errorf("status: %d\n%s", code, text)
	}
	w.commit("30s")
	if code, text = w.run("trigger", "prod"); code != command.ExitDone {
		t.Errorf("trigger: %d\n%s", code, text)
	}
	w.rendered("prod", "scrape_interval: 30s") // The command has waited for it.
	if code, text = w.run("trigger", "--all"); code != command.ExitDone || !strings.Contains(text, "prod ") {
		t.Errorf("trigger --all: %d\n%s", code, text)
	}
	if code, text = w.run("trigger", "prd"); code != command.ExitUsage || !strings.Contains(text, `no pipeline "prd"`) {
		t.Errorf("trigger of a pipeline that is not there: %d\n%s", code, text)
	}
	if code, text = w.run("status", "prd"); code != command.ExitUsage || !strings.Contains(text, "prod") {
		t.Errorf("status of a pipeline that is not there: %d\n%s", code, text)
	}

	// An object is held: the exit code is 1, and the place and the reason are printed.
	w.commit("wrong")
	if code, text = w.run("trigger", "prod"); code != command.ExitFindings {
		t.Errorf("trigger with an error in the input: %d\n%s", code, text)
	}
	if code, text = w.run("status", "prod"); code != command.ExitFindings ||
		!strings.Contains(text, "ServiceMonitor/shop/cart\n       in/agent.yaml:") {
		t.Errorf("status with an error in the input: %d\n%s", code, text)
	}
	if page := w.get("/"); !strings.Contains(page, "ServiceMonitor/shop/cart: ") ||
		!strings.Contains(page, "1 not ready") {
		t.Errorf("the page does not show what is held:\n%s", page)
	}
	if page := w.get("/pipelines/prod"); !strings.Contains(page, "in/agent.yaml:") {
		t.Errorf("the page does not show where what is held is wrong:\n%s", page)
	}
	if page := w.get("/search?q=shop/cart"); !strings.Contains(page, "serviceMonitor/shop/cart/0") {
		t.Errorf("the search does not find the job of a monitor:\n%s", page)
	}

	w.stop()
	if code, text = w.run("status"); code != command.ExitRepository ||
		!strings.Contains(text, "is agentry serve running there?") {
		t.Errorf("status of a service that is gone: %d\n%s", code, text)
	}
}

// stop ends the service as systemd and Kubernetes do; that is not a failure.
func (w *served) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	w.line("stopped")
	for range w.lines { // To its end, as Wait closes it.
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("SIGTERM ended the service with %v", err)
	}
}

// TestServeTakesABurstOfWebhooks sends the webhooks of 50 pushes at once. They make one or two rounds.
func TestServeTakesABurstOfWebhooks(t *testing.T) {
	t.Parallel()
	w := serveTestbed(t)
	before := w.passes()
	w.commit("20s")
	var running sync.WaitGroup
	for i := range 50 {
		running.Go(func() {
			if got := w.hook(hookSecret, fmt.Sprint(i)); got != http.StatusAccepted {
				t.Errorf("webhook %d got %d", i, got)
			}
		})
	}
	running.Wait()
	w.rendered("prod", "scrape_interval: 20s")
	if got := w.hook(hookSecret, "49"); got != http.StatusOK {
		t.Errorf("a replay got %d", got)
	}
	// The next pass that is triggered comes after all passes of the burst.
	if code, text := w.run("trigger", "prod"); code != command.ExitDone {
		t.Fatalf("trigger: %d\n%s", code, text)
	}
	if made := w.passes() - before - 1; made < 1 || made > 2 {
		t.Errorf("the burst made %d passes", made)
	}
	w.stop()
}

// TestServeReloads changes the configuration of a running service.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	w := serveTestbed(t)

	// A bad file does not stop what runs, and is reported.
	w.write("prod.yaml", "kind: [")
	bad := w.until("the bad file is told of", func(p server.Pipelines) bool { return len(p.Problems) > 0 })
	if len(bad.Items) != 1 || !allReady(bad.Items) {
		t.Errorf("a bad file stopped the pipeline: %+v", bad.Items)
	}
	if code, text := w.run("status"); code != command.ExitFindings || !strings.Contains(text, "prod.yaml:1") {
		t.Errorf("status with a bad file: %d\n%s", code, text)
	}
	w.commit("20s")
	if code, text := w.run("trigger", "prod"); code != command.ExitDone {
		t.Errorf("trigger with a bad file: %d\n%s", code, text)
	}

	// SIGHUP reads it at once and makes a pass of each pipeline.
	w.commit("30s")
	w.write("prod.yaml", w.pipeline("prod", "2h"))
	w.write("test.yaml", w.pipeline("test", "1h"))
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.line("reloading")
	w.rendered("prod", "scrape_interval: 30s")
	w.rendered("test", "scrape_interval: 30s")
	w.until("good again", func(p server.Pipelines) bool {
		return len(p.Problems) == 0 && len(p.Items) == 2 && allReady(p.Items)
	})
	w.stop()
}

func TestServeRefusesToStart(t *testing.T) {
	folder := t.TempDir()
	good, bad, token := filepath.Join(folder, "good.yaml"), filepath.Join(folder, "bad.yaml"), filepath.Join(folder,
		"token")
	text := "apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: a}\nspec:\n" +
		"  sources: [{url: /nowhere, ref: {branch: main}, paths: [in]}]\n  output: {branch: b}\n"
	for name, content := range map[string]string{good: text, bad: text + "  colour: red\n", token: "a b"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":                   {nil, "no pipeline file or folder is given"},
		"a file that is not there":  {[]string{"-f", good + "s"}, "no such file"},
		"a file with an error":      {[]string{"-f", bad}, "unknown field"},
		"no address":                {[]string{"-f", good, "--listen", "none"}, "such as :9292, or off"},
		"no admin address":          {[]string{"-f", good, "--admin-listen", "off"}, "cannot be off"},
		"an admin listener for all": {[]string{"-f", good, "--admin-listen", ":0"}, "--bearer-token-file"},
		"a token of two words":      {[]string{"-f", good, "--bearer-token-file", token}, "more than one word"},
		"a certificate without its key": {[]string{"-f", good, "--tls-cert", token},
			"--tls-cert and --tls-key need each other"},
		"an admin certificate without one": {[]string{"-f", good, "--admin-tls-key", token},
			"--admin-tls-cert and --admin-tls-key need each other"},
		"a certificate that is none": {[]string{"-f", good, "--admin-listen", "127.0.0.1:0", "--tls-cert", token,
			"--tls-key", token}, "PEM"},
		"a size that is none": {[]string{"-f", good, "--memory", "much"},
			`--memory "much" is not a size`},
		"a size of nothing": {[]string{"-f", good, "--max-webhook-size", "0"}, "is not a size"},
		"a jitter of all": {[]string{"-f", good, "--interval-jitter", "1"},
			"--interval-jitter must be"},
		"a level that is none": {[]string{"-f", good, "--log-level", "loud"},
			`unknown --log-level "loud"`},
		"a format that is none": {[]string{"-f", good, "--log-format", "xml"}, "use text or json"},
		"an address that nobody can have": {[]string{"-f", good, "--admin-listen", "127.0.0.1:70000"},
			"invalid port"},
		"a webhook address in the same way": {[]string{"-f", good, "--admin-listen", "127.0.0.1:0", "--listen",
			"127.0.0.1:70000"}, "invalid port"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs strings.Builder
			args := append([]string{"agentry", "serve", "--cache-dir", t.TempDir()}, test.args...)
			code := Run(t.Context(), args, Env{Stdout: io.Discard, Stderr: &errs, LookupEnv: os.LookupEnv})
			if code != command.ExitUsage || !strings.Contains(errs.String(), test.want) {
				t.Errorf("exit code %d, and %s", code, errs.String())
			}
		})
	}
}

// TestExplainOfAService asks a running service about its last pass, also after another one.
func TestExplainOfAService(t *testing.T) {
	w := serveTestbed(t)
	explained := func(args ...string) (out, errs string, code int) {
		var stdout, stderr strings.Builder
		env := Env{Stdout: &stdout, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
		code = Run(t.Context(), append([]string{"agentry", "explain", "--server", w.admin}, args...), env)
		return stdout.String(), stderr.String(), code
	}
	out, errs, code := explained("smon/shop/cart")
	if code != command.ExitDone || !strings.Contains(out, "job serviceMonitor/shop/cart/0") ||
		!strings.Contains(out, "in/agent.yaml:") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	out, errs, code = explained("smon/shop/carts", "--pipeline", "prod")
	if code != command.ExitUsage || out != "" || !strings.Contains(errs, "did you mean ServiceMonitor/shop/cart?") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if out, errs, code = explained("smon/shop/cart", "--pipeline", "prd"); code != command.ExitUsage ||
		!strings.Contains(errs, "did you mean prod?") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if out, errs, code = explained("-l", "in (", "--pipeline", "prod"); code != command.ExitUsage {
		t.Errorf("%d %s %s", code, out, errs)
	}
}
