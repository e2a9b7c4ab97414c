package browser

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/server"
)

// standing is a fleet that stands still.
type standing struct {
	pipelines []fleet.Status
	remotes   []fleet.RemoteStatus
	problems  diag.List
}

func (s standing) Status() []fleet.Status        { return s.pipelines }
func (s standing) Remotes() []fleet.RemoteStatus { return s.remotes }
func (s standing) Problems() diag.List           { return s.problems }

// Explained returns the same render for each pipeline.
func (s standing) Explained(name string) (*explain.Render, bool) {
	_, ok := s.Pipeline(name)
	return rendered(), ok
}

// rendered is a small hierarchy, with a monitor that is missed and one whose names are hostile.
func rendered() *explain.Render {
	texts := `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: grafana-agent, namespace: monitoring}
spec: {metrics: {instanceSelector: {matchLabels: {agent: grafana-agent}}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary, namespace: monitoring, labels: {agent: grafana-agent}}
spec:
  serviceMonitorSelector: {matchLabels: {team: shop}}
  serviceMonitorNamespaceSelector: {matchLabels: {monitoring: enabled}}
  remoteWrite: [{url: "https://mimir.example.com/api/v1/push", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: team-shop, labels: {monitoring: enabled}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: team-shop, labels: {team: shop}}
spec:
  selector: {matchLabels: {app: checkout}}
  endpoints: [{port: http, metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: "<img src=x onerror=alert(1)>"}]}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: search, namespace: team-search, labels: {team: search}}
spec: {selector: {}, endpoints: [{port: http}]}
`
	r := manifest.Parse(manifest.File{Path: "teams/" + long() + "/monitors.yaml", Data: []byte(texts)}, manifest.Options{})
	out := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	return &out
}

func (s standing) Pipeline(name string) (fleet.Status, bool) {
	for _, p := range s.pipelines {
		if p.Name == name {
			return p, true
		}
	}
	return fleet.Status{}, false
}

func moment(d time.Duration) *metav1.Time {
	out := metav1.NewTime(time.Now().Add(d))
	return &out
}

// pipeline is one that is fine, but for the changes.
func pipeline(name string, changes ...func(*fleet.Status)) fleet.Status {
	s := fleet.Status{
		Name: name, Origin: "/etc/agentry/pipelines/" + name + ".yaml:1", Owned: true,
		Conditions: []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, "rendered 12 units from main@sha1:2f1e0d3")},
		Sources:    []fleet.SourceStatus{{URL: "https://git.example.com/platform/monitoring", Ref: "branch main", Commit: "2f1e0d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"}},
		Output:     &fleet.OutputStatus{URL: "https://git.example.com/platform/rendered", Branch: "environments/" + name, Path: ".", Commit: "9c8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e2d1c0b"},
		LastPass:   &fleet.PassStatus{Began: *moment(-3 * time.Minute), Took: metav1.Duration{Duration: 812 * time.Millisecond}, Trigger: "webhook"},
		NextPass:   moment(52 * time.Second),
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// finding is a diagnostic with everything that one may have.
func finding(message string) fleet.Finding {
	return fleet.Finding{
		Severity: "error", Code: "invalid-setting", Message: message, Hint: "write it right, as docs/input.md says", File: "teams/checkout/" + long()[:60] + "/servicemonitor.yaml", Line: 17, Column: 9,
		Object: "ServiceMonitor/checkout/cart",
	}
}

// unready is a fleet with all that the page can show.
func unready() standing {
	broken := pipeline("prod-eu", func(s *fleet.Status) {
		s.Conditions = []metav1.Condition{
			condition(meta.ReadyCondition, metav1.ConditionFalse, meta.BuildFailedReason, hostile),
			condition(meta.StalledCondition, metav1.ConditionTrue, meta.BuildFailedReason, "the branch environments/prod-eu is protected: allow the push, or set output.propose"),
		}
		s.Failures, s.LastPass.Error = 41, "push to https://git.example.com/platform/rendered: "+long()
		s.Sources = append(s.Sources, fleet.SourceStatus{URL: "ssh://git@git.example.com/" + long(), Ref: "tag v*", Commit: "0123456789", Stale: true})
		s.Units = []fleet.UnitStatus{{Name: "checkout/agent", State: "held", Reason: "spec.image: " + hostile}, {Name: "checkout/fine", State: "unchanged"}}
		s.Held = []fleet.HeldStatus{
			{Object: "ServiceMonitor/checkout/cart", Units: []string{"checkout/agent", "ops/agent"}, As: "1111111111", Since: "2222222222", Waiting: []string{"spec.endpoints[0].interval", "spec.selector"}, Reason: finding(hostile)},
			{Object: "PodMonitor/" + long()[:63] + "/" + long()[:63], Since: "3333333333", Reason: finding(long())},
		}
		s.Findings = fleet.Findings{Errors: 2, Warnings: 1, First: []fleet.Finding{finding(hostile), finding("spec.endpoints[0].interval: \"1 minute\" is no duration"), {Severity: "warning", Code: "x", Message: "a warning that names no place"}}}
	})
	untried := pipeline("staging", func(s *fleet.Status) {
		s.Conditions = []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, "waits for its first pass")}
		s.Sources, s.Output, s.LastPass, s.NextPass = nil, nil, nil, nil
	})
	return standing{
		pipelines: []fleet.Status{
			pipeline("prod-us"), broken, untried,
			pipeline("asleep", func(s *fleet.Status) { s.Suspended, s.NextPass = true, nil }),
			{Name: "another-replicas"},
			pipeline("clusters", func(s *fleet.Status) {
				s.ForEach, s.Pipelines, s.Output = "clusters/*", []string{"prod-us", "prod-eu"}, nil
			}),
			pipeline(`<img src=x onerror=alert(3)>`, func(s *fleet.Status) { s.Output.Path, s.Origin = hostile, hostile }),
		},
		remotes: []fleet.RemoteStatus{
			{URL: "https://git.example.com/platform/monitoring", Pipelines: 4, Refs: 3, LastRound: moment(-8 * time.Second), Took: metav1.Duration{Duration: 93 * time.Millisecond}, NextRound: moment(52 * time.Second)},
			{URL: "ssh://git@git.example.com/" + long(), Pipelines: 1, Refs: 1, Failures: 12, NextRound: moment(4 * time.Minute), Error: "cannot be reached: dial tcp: lookup git.example.com: no such host; " + hostile},
		},
		problems: diag.List{{Severity: diag.Error, Code: diag.PipelineInvalid, File: "/etc/agentry/pipelines/broken.yaml", Line: 9, Message: "unknown field " + hostile, Hint: "see docs/pipeline.md"}},
	}
}

// admin serves the page of a fleet.
func admin(s standing, token func() string) server.Options {
	return server.Options{
		Fleet: s, Trigger: func(fleet.Trigger) {}, Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Token: token, Log: slog.New(slog.DiscardHandler),
	}
}

func TestThePageOfTheService(t *testing.T) {
	browser := chromium(t)
	calm := standing{
		pipelines: []fleet.Status{pipeline("prod-eu"), pipeline("prod-us")},
		remotes:   []fleet.RemoteStatus{{URL: "https://git.example.com/platform/monitoring", Pipelines: 2, Refs: 2, LastRound: moment(-8 * time.Second), NextRound: moment(time.Minute)}},
	}
	for name, s := range map[string]standing{"troubled": unready(), "calm": calm, "empty": {}} {
		subjects := map[string]subject{name: {path: "/"}}
		if name == "troubled" {
			subjects = map[string]subject{
				name: {path: "/", says: []string{
					hostile, "7 pipelines, 1 not ready", "1 problem", "suspended", "run by another replica", "stalled", "cannot be reached", "BuildFailed", "Progressing",
					"left out", "the whole unit is held", "41 failed", "unknown field", "prod-us", "write it right", "12 times",
				}},
				"hierarchies": {path: "/explain?pipeline=prod-eu", says: []string{"GrafanaAgent/monitoring/grafana-agent", "rendered"}},
				"agent":       {path: "/explain?pipeline=prod-eu&object=GrafanaAgent/monitoring/grafana-agent", says: []string{"MetricsInstance/monitoring/primary", "bytes"}},
				"monitor":     {path: "/explain?pipeline=prod-eu&object=ServiceMonitor/team-shop/checkout", says: []string{"serviceMonitor/team-shop/checkout/0", "<img src=x onerror=alert(1)>", "Secret/monitoring/login"}},
				"missed":      {path: "/explain?pipeline=prod-eu&object=ServiceMonitor/team-search/search", says: []string{"has no manifest here", "one label and one label of the namespace away"}},
				"found":       {path: "/explain?pipeline=prod-eu&q=team-shop", says: []string{"Found: 2 objects"}},
				"one":         {path: "/?pipeline=prod-eu", says: []string{"prod-eu", "stalled", hostile}},
				"odd":         {path: "/?pipeline=%3Cimg+src%3Dx+onerror%3Dalert%283%29%3E", says: []string{hostile, "<img src=x onerror=alert(3)>"}},
			}
		}
		examine(t, browser, serve(t, server.NewAdmin(admin(s, nil))), subjects)
	}
}

// TestAPageBehindAToken: a browser has no bearer tokens. It asks for a password, which is the token,
// and must ask for the style with it too.
func TestAPageBehindAToken(t *testing.T) {
	const token = "0123456789abcdef"
	service := serve(t, server.NewAdmin(admin(unready(), func() string { return token })))
	address := strings.Replace(service.URL, "http://", fmt.Sprintf("http://anybody:%s@", token), 1)
	s := visit(t, chromium(t), address+"/", looks()[1])
	for _, complaint := range s.complaints() {
		t.Error(complaint)
	}
	if !strings.Contains(s.Text, "prod-us") {
		t.Errorf("the page says %q", s.Text)
	}
}
