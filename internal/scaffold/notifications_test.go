package scaffold

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/webhook"
)

const commit = "7fd1c0ffee7fd1c0ffee7fd1c0ffee7fd1c0ffee"

// TestTheTemplateForArgoCD fills the template as Argo CD's notifications do, and sends the result.
func TestTheTemplateForArgoCD(t *testing.T) {
	o := Options{Name: "on", URL: "https://git.example.com/a.git", Branch: "main", Job: NoJob, Deployer: ArgoCD,
		Serve: "https://agentry.example.com/"}
	files, err := o.Files()
	if err != nil {
		t.Fatal(err)
	}
	file := files[slices.IndexFunc(files, func(f File) bool { return f.Path == "argocd/notifications.yaml" })]
	var config struct{ Data map[string]string }
	var message struct {
		Webhook map[string]struct{ Body string }
	}
	var triggers, service any
	for _, err := range []error{yaml.Unmarshal(file.Data, &config),
		yaml.Unmarshal([]byte(config.Data["template.agentry"]), &message),
		yaml.Unmarshal([]byte(config.Data["trigger.agentry"]), &triggers),
		yaml.Unmarshal([]byte(config.Data["service.webhook.agentry"]), &service)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := template.New("").Funcs(sprig.GenericFuncMap()).Parse(message.Webhook["agentry"].Body)
	if err != nil {
		t.Fatal(err)
	}
	report := func(state delivery.State, message string) []delivery.Report {
		return []delivery.Report{{Cluster: "on", Reconciler: "Application/argocd/monitoring",
			Repository: "git.example.com/a", Branch: "environments/on", Path: ".", Commit: commit, State: state,
			Message: message}}
	}
	for name, test := range map[string]struct {
		status, source string
		want           []delivery.Report
	}{
		"nothing yet": {`{}`, "", nil},
		"synced": {`{"sync": {"status": "Synced", "revision": "` + commit + `"}, "health": {"status": "Progressing"},
			"operationState": {"phase": "Succeeded", "syncResult": {"revision": "` + commit + `"}}}`, "",
			report(delivery.Applied, "")},
		"healthy": {`{"sync": {"status": "Synced", "revision": "` + commit + `"}, "health": {"status": "Healthy"}}`, "",
			report(delivery.Healthy, "")},
		"failed": {`{"sync": {"status": "OutOfSync", "revision": "` + commit + `"}, "health": {"status": "Healthy"},
			"operationState": {"phase": "Failed", "message": "a \"quoted\"\nline {{ .app }}",
			"syncResult": {"revision": "` + commit + `"}}}`, "",
			report(delivery.Failed, `a "quoted" line {{ .app }}`)},
		"several sources": {`{"sync": {"status": "Synced", "revisions": ["1.2.3", "` + commit + `"]},
			"health": {"status": "Healthy"}}`, `"sources": [{"repoURL": "https://charts.example.com", "chart": "a",
			"targetRevision": "1.2.3"}, {"repoURL": "https://git.example.com/a.git", "path": ".",
			"targetRevision": "environments/on"}]`, report(delivery.Healthy, "")},
	} {
		t.Run(name, func(t *testing.T) {
			source := test.source
			if source == "" {
				source = `"source": {"repoURL": "https://git.example.com/a.git", "targetRevision": "environments/on",
					"path": "."}`
			}
			var app map[string]any
			if err := json.Unmarshal([]byte(`{"metadata": {"name": "monitoring", "namespace": "argocd"}, "spec": {`+
				`"destination": {"server": "https://kubernetes.default.svc"}, `+source+`}, "status": `+test.status+`}`),
				&app); err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			if err := parsed.Execute(&body, map[string]any{"app": app}); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(body.Bytes()) {
				t.Fatalf("not JSON:\n%s", body.Bytes())
			}
			if diff := cmp.Diff(test.want, send(t, body.Bytes()), cmpopts.IgnoreUnexported(delivery.Report{}),
				cmpopts.IgnoreFields(delivery.Report{}, "Sent")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// send returns the reports that a receiver reads in a body.
func send(t *testing.T, body []byte) (out []delivery.Report) {
	t.Helper()
	h := delivery.NewHandler(delivery.HandlerOptions{
		Token: func() string { return "t" }, Gate: intake.New(), Log: slog.New(slog.DiscardHandler),
		Record: func(r delivery.Report) (bool, error) {
			out = append(out, r)
			return true, nil
		},
		Observe: func(_ string, result webhook.Result) {
			if result != webhook.Accepted && result != webhook.Ignored {
				t.Errorf("the message is %s:\n%s", result, body)
			}
		},
	})
	r := httptest.NewRequest(http.MethodPost, "http://h/hook/argocd", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer t")
	h.ServeHTTP(httptest.NewRecorder(), r)
	return out
}
