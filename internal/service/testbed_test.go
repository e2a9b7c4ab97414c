package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/gittest"
)

// patience limits how long a test waits for an event that must happen.
const patience = 2 * time.Minute

// glance is the interval at which a test checks whether it has happened.
const glance = 20 * time.Millisecond

// testbed runs a service for real repositories, and asks it like its users.
type testbed struct {
	t              *testing.T
	config, folder string // folders of the pipeline files, and of the files that they name
	options        Options
	lines          logLines
	passed         []map[string]any // the lines read since the start
	admin          string
	stop           context.CancelFunc
	ended          chan error
}

// logLines receives the lines of the log.
type logLines chan map[string]any

// Write implements io.Writer.
func (l logLines) Write(p []byte) (int, error) {
	line := map[string]any{}
	if err := json.NewDecoder(bytes.NewReader(p)).Decode(&line); err != nil {
		return 0, err
	}
	l <- line
	return len(p), nil
}

func newTestbed(t *testing.T) *testbed {
	t.Helper()
	w := &testbed{t: t, config: t.TempDir(), folder: t.TempDir(), lines: make(logLines, 100_000)}
	w.options = options(t, w.config, nil)
	w.options.Log = slog.New(slog.NewJSONHandler(w.lines, nil))
	w.options.Grace = patience
	return w
}

// pipeline writes the file of a pipeline that reads main of a repository and writes env/NAME there, with one
// credential. Its interval is an hour, so that no poll interferes.
func (w *testbed) pipeline(name, url, auth string) {
	w.t.Helper()
	write(w.t, filepath.Join(w.config, name+".yaml"), fmt.Sprintf(`apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: %s}
spec:
  interval: 1h
  sources:
    - url: %s
      ref: {branch: main}
      paths: [in]
      auth: {%s}
  output:
    branch: env/%[1]s
    auth: {%[3]s}
`, name, url, auth))
}

// input returns a GrafanaAgent whose configuration contains a word.
func input(word string) map[string]string {
	return map[string]string{"in/agent.yaml": fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: shop}
spec:
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: shop}
spec:
  remoteWrite: [{url: "http://mimir/%s"}]
`, word)}
}

// rendered reports whether the output of a pipeline contains a word.
func rendered(g *gittest.Repo, pipeline, word string) bool {
	return g.Has("refs/heads/env/"+pipeline) &&
		strings.Contains(g.Git("show", "env/"+pipeline+":shop/agent/agent-config.secret.yaml"), "http://mimir/"+word)
}

// start starts the service. It ends with the test, or earlier.
func (w *testbed) start() {
	w.t.Helper()
	w.passed = nil
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	w.ended = make(chan error, 1)
	ended := w.ended
	go func() { ended <- Run(ctx, w.options) }()
	w.t.Cleanup(func() {
		w.stop()
		<-ended
	})
	w.admin = fmt.Sprintf("http://%s", w.line("started")["admin"])
}

// end stops the service and waits for its end.
func (w *testbed) end() {
	w.t.Helper()
	w.stop()
	if err := <-w.ended; err != nil {
		w.t.Errorf("the service ended with %v", err)
	}
	w.ended <- nil // for the cleanup
}

// line returns the first log line with a message. It waits for it unless a later line has already been read.
func (w *testbed) line(message string) map[string]any {
	w.t.Helper()
	for _, line := range w.passed {
		if line["msg"] == message {
			return line
		}
	}
	deadline := time.After(patience)
	for {
		select {
		case line := <-w.lines:
			if line["level"] == "ERROR" && line["msg"] == "panic" {
				w.t.Errorf("%v", line)
			}
			w.passed = append(w.passed, line)
			if line["msg"] == message {
				return line
			}
		case err := <-w.ended:
			w.ended <- err
			w.t.Fatalf("the service ended without the line %q: %v", message, err)
		case <-deadline:
			w.t.Fatalf("the log never says %q", message)
		}
	}
}

// states returns the service's pipelines, by name.
func (w *testbed) states() map[string]server.Pipeline {
	w.t.Helper()
	var answer server.Pipelines
	w.ask(http.MethodGet, "/api/v1/pipelines", &answer)
	out := map[string]server.Pipeline{}
	for _, s := range answer.Items {
		out[s.Name] = s
	}
	return out
}

func (w *testbed) ask(method, path string, into any) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.admin+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %s %v %s", method, path, answer.Status, err, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		w.t.Fatal(err)
	}
}

// metrics returns the service's metrics.
func (w *testbed) metrics() string {
	w.t.Helper()
	answer, err := http.Get(w.admin + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// trigger requests passes of pipelines, like a user.
func (w *testbed) trigger(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.ask(http.MethodPost, "/api/v1/pipelines/"+name+"/reconcile", nil)
	}
}

// until waits until a condition holds.
func (w *testbed) until(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(glance) {
		if time.Now().After(deadline) {
			var all strings.Builder
			for name, s := range w.states() {
				fmt.Fprintf(&all, "%s: %+v\n%+v\n%+v\n", name, s.Conditions, s.Output, s.LastPass)
			}
			w.t.Fatalf("never %s:\n%s", what, all.String())
		}
	}
}

// says waits until Ready of a pipeline is false for a reason, with a message that contains these texts, and returns its
// state.
func (w *testbed) says(name, reason string, texts ...string) (s server.Pipeline) {
	w.t.Helper()
	last := ""
	w.until(fmt.Sprintf("%s is not ready, for %s: %q", name, reason, texts), func() bool {
		s = w.states()[name]
		c := s.Condition("Ready")
		if message := c.Message; message != last {
			last = message
			w.t.Logf("%s: %s %s: %s", name, c.Status, c.Reason, message)
		}
		return c.Status == "False" && c.Reason == reason && !slices.ContainsFunc(texts, func(text string) bool {
			return !strings.Contains(c.Message, text)
		})
	})
	return s
}

// ready waits until pipelines are ready, and their output contains a word.
func (w *testbed) ready(g *gittest.Repo, word string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.until(name+" is ready with "+word, func() bool {
			s := w.states()[name]
			return s.Condition("Ready").Status == "True" && rendered(g, name, word) &&
				s.Output.Commit == g.Head("env/"+name)
		})
	}
}

func (w *testbed) isReady(name string) bool {
	w.t.Helper()
	s := w.states()[name]
	return s.Condition("Ready").Status == "True"
}

// exists reports whether a file exists.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
