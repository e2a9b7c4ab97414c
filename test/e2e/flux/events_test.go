package flux

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	eventsAddress = "127.0.0.1:8080"
	// directPath is where agentry posts its events itself, alertsPath where Flux posts what its
	// Alert lets through.
	directPath, alertsPath = "/agentry", "/flux"
)

// keys are those that events are signed with.
func keys() map[string]string {
	return map[string]string{directPath: "key of events", alertsPath: "key of alerts"}
}

// event is what is looked at of an event of Flux.
type event struct {
	InvolvedObject      struct{ APIVersion, Kind, Namespace, Name string }
	Severity            string
	Reason              string
	Message             string
	Metadata            map[string]string
	ReportingController string
}

// about is the object of an event.
func (e event) about() string {
	return strings.Join([]string{e.InvolvedObject.APIVersion, e.InvolvedObject.Kind, e.InvolvedObject.Namespace,
		e.InvolvedObject.Name}, " ")
}

// events keeps what is posted with the right signature.
type events struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string][]event // by path
}

func newEvents(t *testing.T) *events {
	t.Helper()
	e := &events{t: t, all: map[string][]event{}}
	gitops.Serve(t, eventsAddress, e)
	return e
}

// ServeHTTP implements [http.Handler].
func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		e.t.Error(err)
		return
	}
	if want := "sha256=" + gitops.Sign(keys()[r.URL.Path], body); r.Header.Get("X-Signature") != want {
		e.t.Errorf("an event at %s is signed %q, not %q", r.URL.Path, r.Header.Get("X-Signature"), want)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var got event
	if err := json.Unmarshal(body, &got); err != nil {
		e.t.Errorf("%v: %s", err, body)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all[r.URL.Path] = append(e.all[r.URL.Path], got)
}

// await waits for an event of a path that somebody looks for, and returns it.
func (e *events) await(t *testing.T, path, what string, is func(event) bool) event {
	t.Helper()
	var found event
	harness.Eventually(t, what+" at "+path, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		i := slices.IndexFunc(e.all[path], is)
		if i < 0 {
			return fmt.Errorf("not among the last of %+v", e.all[path][max(0, len(e.all[path])-3):])
		}
		found = e.all[path][i]
		return nil
	})
	return found
}

// of is whether an event of agentry tells of an input commit, for a reason.
func of(commit, reason string) func(event) bool {
	return func(e event) bool {
		return e.ReportingController == "agentry" && e.Reason == reason &&
			e.Metadata["originRevision"] == "main@sha1:"+commit
	}
}
