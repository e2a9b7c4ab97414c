package telemetry

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/grafana/loki/pkg/push"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// loki keeps the lines that it gets, as "tenant {labels} time line".
type loki struct {
	mu    sync.Mutex
	lines []string
}

func startLoki(t *testing.T) *loki {
	t.Helper()
	l := &loki{}
	listener, err := net.Listen("tcp4", "10.255.0.2:3100")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: l}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return l
}

// ServeHTTP takes a push request as Loki does.
func (l *loki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := decode(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range request.Streams {
		for _, e := range stream.Entries {
			l.lines = append(l.lines, fmt.Sprintf("%s %s %s %q", r.Header.Get("X-Scope-OrgID"), stream.Labels,
				e.Timestamp.UTC().Format(time.RFC3339Nano), e.Line))
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func decode(r *http.Request) (*push.PushRequest, error) {
	if r.URL.Path != "/loki/api/v1/push" {
		return nil, fmt.Errorf("nobody pushes to %s", r.URL.Path)
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	request := &push.PushRequest{}
	if err == nil {
		err = request.Unmarshal(body)
	}
	return request, err
}

// got are the lines with a label, sorted, with the names of pods in place of what is new each time.
func (l *loki) got(label string, uids *strings.Replacer) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.lines {
		if strings.Contains(line, label) {
			out = append(out, uids.Replace(line))
		}
	}
	slices.Sort(out)
	return out
}

// logs follows lines of files, in the two forms of container runtimes, some of them written
// before and some while an agent reads.
func logs(t *testing.T, w *testbed) {
	l := startLoki(t)
	files, uids := w.logFiles(t)
	write(t, files["web-0"],
		`2026-01-02T03:04:05.000000001Z stdout F {"level":"info","message":"paid with card=12345678","user":{"name":"ann"}}`,
		`2026-01-02T03:04:05.000000002Z stdout F {"level":"debug","message":"nothing"}`,
		`2026-01-02T03:04:05.000000003Z stdout F {"level":"debug","message":"slow"}`,
		`2026-01-02T03:04:05.000000004Z stderr P {"level":"error",`,
		`2026-01-02T03:04:05.000000005Z stderr F "message":"in two parts"}`)
	write(t, files["batch-0"],
		`{"log":"panic: one\n","stream":"stderr","time":"2026-01-02T03:04:06.1Z"}`,
		`{"log":"  in two\n","stream":"stderr","time":"2026-01-02T03:04:06.2Z"}`,
		`{"log":"done\n","stream":"stderr","time":"2026-01-02T03:04:06.3Z"}`)
	write(t, files["web-2"], `2026-01-02T03:04:05Z stdout F {"message":"not to be read"}`)
	w.apply(t, newManifests(t, "logs").render(t))
	w.apply(t, newSuccessor(t, "logs").render(t, "operator"))
	w.runs(t, "logging", "agent-", 1)
	w.runs(t, "logging", "successor-", 1)
	agent, next := `cluster="logging/agent"`, `cluster="logging/successor"`
	golden(t, "logs.txt", func() ([]string, error) { return l.got(agent, uids), nil })
	sameAs(t, "logs.txt", func() ([]string, error) { return asOf(l.got(next, uids)), nil })

	write(t, files["web-1"], `2026-01-02T03:04:07Z stdout F {"level":"info","message":"in a new file"}`)
	write(t, files["web-0"], `2026-01-02T03:04:08Z stdout F {"level":"info","message":"in an old file"}`)
	golden(t, "logs-later.txt", func() ([]string, error) { return l.got(agent, uids), nil })
	sameAs(t, "logs-later.txt", func() ([]string, error) { return asOf(l.got(next, uids)), nil })
}

// logFiles are where container runtimes write what pods say.
func (w *testbed) logFiles(t *testing.T) (files map[string]string, uids *strings.Replacer) {
	t.Helper()
	files = map[string]string{}
	var pairs []string
	for _, namespace := range []string{"store", "batch"} {
		pods, err := w.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods.Items {
			dir := fmt.Sprintf("%s_%s_%s", p.Namespace, p.Name, p.UID)
			files[p.Name] = filepath.Join(w.node("/var/log/pods"), dir, p.Spec.Containers[0].Name, "0.log")
			pairs = append(pairs, string(p.UID), "uid-of-"+p.Name)
		}
	}
	return files, strings.NewReplacer(pairs...)
}

// write appends lines to a file.
func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}
