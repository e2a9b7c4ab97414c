// Package notifications lets Argo CD's own notifications engine report Applications, with what agentry init --serve
// writes. Its messages are the test data of agentry's receiver, package delivery.
package notifications

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/notification/settings"
	"github.com/argoproj/notifications-engine/pkg/api"
	"github.com/argoproj/notifications-engine/pkg/controller"
	"github.com/argoproj/notifications-engine/pkg/subscriptions"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	top    = "../../../../.." // of the repository
	token  = "token-of-deliveries"
	commit = "7fd1c0ffee7fd1c0ffee7fd1c0ffee7fd1c0ffee"
	// spec is that of most Applications.
	spec = `{"source": {"repoURL": "https://git.example.com/platform/monitoring.git", "path": ".",
		"targetRevision": "environments/prod"}, "destination": {"server": "https://kubernetes.default.svc"}}`
)

var update = flag.Bool("update", false, "write the test data of package delivery")

// TestMessages compares what is sent about Applications with what package delivery reads.
func TestMessages(t *testing.T) {
	e := start(t)
	for name := range applications(t) {
		t.Run(name, func(t *testing.T) {
			e.state = controller.NewState("")
			sent := e.notify(t, application(t, name, strings.NewReplacer()))
			file := filepath.Join(top, "internal", "delivery", "testdata", "argocd-"+name+".json")
			if *update && sent != "" {
				if err := os.WriteFile(file, []byte(sent), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if sent != string(want) {
				t.Errorf("sent is\n%s\nnot\n%s", sent, want)
			}
		})
	}
}

// TestChanges is about what is sent when an Application changes.
func TestChanges(t *testing.T) {
	same := strings.NewReplacer()
	nextDay := strings.NewReplacer("2026-11-21", "2026-11-22")
	next := strings.NewReplacer("2026-11-21", "2026-11-22", commit, strings.Repeat("34", 20)) // the next commit
	e := start(t)
	type step struct {
		application string
		at          *strings.Replacer
		isSent      bool
	}
	for name, steps := range map[string][]step{
		"one commit": {{"running", same, false}, {"synced", same, true}, {"healthy", same, true},
			{"healthy", same, false}},
		"the next": {{"healthy", same, true}, {"healthy", next, true}, {"healthy", next, false}},
		"health":   {{"healthy", same, true}, {"degraded", same, true}, {"healthy", same, true}},
		"a failure": {{"running", same, false}, {"retried", same, true}, {"failed", same, true},
			{"failed", same, false}},
		"the next fails": {{"failed", same, true}, {"failed", next, true}},
		"it fails again": {{"failed", same, true}, {"healthy", same, true}, {"failed", nextDay, true},
			{"healthy", same, true}},
		"it is corrected":  {{"healthy", same, true}, {"failed", same, true}, {"older-failure", next, true}},
		"twice refused":    {{"refused", same, true}, {"refused", same, false}, {"refused", nextDay, true}},
		"twice unreadable": {{"unknown", same, true}, {"unknown", same, false}, {"unknown", nextDay, true}},
	} {
		t.Run(name, func(t *testing.T) {
			e.state = controller.NewState("")
			for i, step := range steps {
				if sent := e.notify(t, application(t, step.application, step.at)); (sent != "") != step.isSent {
					t.Errorf("step %d, %s: sent %q", i, step.application, sent)
				}
			}
		})
	}
}

// engine is the notifications engine, with a receiver.
type engine struct {
	api    api.API
	to     subscriptions.Annotations
	state  controller.NotificationsState
	bodies []string
}

// start starts an engine with the files of agentry init.
func start(t *testing.T) *engine {
	t.Helper()
	e := &engine{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/hook/argocd" ||
			r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("request %s %s with %s: %v", r.Method, r.URL.Path, r.Header, err)
		}
		e.bodies = append(e.bodies, string(body))
	}))
	t.Cleanup(receiver.Close)
	folder := t.TempDir()
	initialize := exec.CommandContext(t.Context(), "go", "run", "./cmd/agentry", "init", "--url",
		"https://git.example.com/platform/monitoring.git", "--name", "prod-eu", "--ci", "none", "--argocd", "--serve",
		receiver.URL, "--remote-write", "https://mimir.example.com/api/v1/push", folder)
	initialize.Dir = top
	if out, err := initialize.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var config corev1.ConfigMap
	read(t, filepath.Join(folder, "argocd", "notifications.yaml"), &config)
	secret := &corev1.Secret{Data: map[string][]byte{"agentry-token": []byte(token)}}
	parsed, err := api.ParseConfig(&config, secret)
	if err != nil {
		t.Fatal(err)
	}
	variables, err := settings.GetFactorySettings(nil, "", "", false).InitGetVars(parsed, &config, secret)
	if err != nil {
		t.Fatal(err)
	}
	if e.api, err = api.NewAPI(*parsed, variables); err != nil {
		t.Fatal(err)
	}
	manifests, err := os.ReadFile(filepath.Join(folder, "argocd", "monitoring.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rendered, _ := strings.Cut(string(manifests), "\n---\n")
	var app struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal([]byte(rendered), &app); err != nil {
		t.Fatal(err)
	}
	e.to = app.Metadata.Annotations
	return e
}

// times matches the time of a message.
var times = regexp.MustCompile(`"time": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)

// notify does what the controller does when an Application has changed, and returns what is sent: nothing, or a
// message, which may be sent more than once. Its time is replaced.
func (e *engine) notify(t *testing.T, app map[string]any) string {
	t.Helper()
	e.bodies = nil
	for trigger, destinations := range e.to.GetDestinations(nil, nil) {
		results, err := e.api.RunTrigger(trigger, app)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			for _, to := range destinations {
				isNews := e.state.SetAlreadyNotified(false, "", trigger, result, to, result.Triggered)
				if !isNews || !result.Triggered {
					continue
				}
				if err := e.api.Send(app, result.Templates, to); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var sent string
	for _, body := range e.bodies {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, []byte(body), "", "  "); err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		text := times.ReplaceAllString(pretty.String(), `"time": "2026-11-21T19:47:28.123Z"`)
		if sent != "" && text != sent {
			t.Errorf("different messages about one change:\n%s%s", sent, text)
		}
		sent = text
	}
	return sent
}

// applications returns all Applications of the test data.
func applications(t *testing.T) (all map[string]map[string]any) {
	t.Helper()
	read(t, filepath.Join("testdata", "applications.yaml"), &all)
	return all
}

// application returns an Application as the API server has it, with texts replaced.
func application(t *testing.T, name string, replace *strings.Replacer) (app map[string]any) {
	t.Helper()
	app = applications(t)[name]
	if app == nil {
		t.Fatalf("there is no Application %s", name)
	}
	if app["spec"] == nil {
		app["spec"] = json.RawMessage(spec)
	}
	app["metadata"] = map[string]string{"name": "monitoring", "namespace": "argocd"}
	text, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	app = nil
	if err := json.Unmarshal([]byte(replace.Replace(string(text))), &app); err != nil {
		t.Fatal(err)
	}
	return app
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
