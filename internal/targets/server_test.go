package targets_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/targets"
)

const hierarchy = `
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {serviceAccountName: agent, metrics: {instanceSelector: {}, remoteWrite: [{url: "https://mimir/push"}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary, namespace: monitoring}
spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}, podMonitorSelector: {},
  podMonitorNamespaceSelector: {}, probeSelector: {}, probeNamespaceSelector: {}}
`

const serviceMonitor = `
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, endpoints: [{port: http}]}
`

const podMonitor = `
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, namespaceSelector: {any: true}, podMetricsEndpoints: [{port: http}]}
`

// jobs returns the jobs that manifests are rendered to.
func jobs(t testing.TB, text string) []explain.ScrapeJob {
	t.Helper()
	read := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	out := generator.Render(manifest.NewSet(read), generator.Options{Compatibility: manifest.Current}, nil)
	for _, d := range append(read.Diags, out.Diags...) {
		if d.Severity == "error" {
			t.Fatal(d)
		}
	}
	found, _ := explain.New(out.Explained()).ScrapeJobs()
	return found
}

// server is an API server whose user may list only some paths. A path's objects are pages.
type server struct {
	pages   map[string][]string
	expires bool // after the first page
	asked   []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Path)
	pages, may := s.pages[r.URL.Path]
	page := len(r.URL.Query().Get("continue"))
	status := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"code": code, "reason": reason, "message": "no"})
	}
	switch {
	case r.Method != http.MethodGet:
		status(http.StatusMethodNotAllowed, "MethodNotAllowed")
	case !may:
		status(http.StatusForbidden, "Forbidden")
	case page > 0 && s.expires:
		s.expires = false
		status(http.StatusGone, "Expired")
	default:
		next := ""
		if page+1 < len(pages) {
			next = strings.Repeat("x", page+1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind": "List", "apiVersion": "v1", "metadata": {"continue": %q}, "items": [%s]}`, next,
			strings.Join(pages[page:min(page+1, len(pages))], ""))
	}
}

func pod(name, ip string) string {
	return fmt.Sprintf(`{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": %q, "namespace": "shop",
		"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "ports": [{"name": "http",
		"containerPort": 80}]}]}, "status": {"phase": "Running", "podIP": %q}}`, name, ip)
}

const (
	service = `{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "shop",
		"labels": {"app": "web"}}, "spec": {"ports": [{"name": "http", "port": 80}]}}`
	endpoints = `{"kind": "Endpoints", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "shop"},
		"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "http", "port": 80}]}]}`
	namespace = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}`
)

// TestObjectsAreListedWithTheRightsOfTheUser: only what the jobs need is listed, in their namespaces, page by page;
// what is forbidden is named with the rule that is missing, and the rest is computed.
func TestObjectsAreListedWithTheRightsOfTheUser(t *testing.T) {
	const inShop = "/api/v1/namespaces/shop/"
	for name, c := range map[string]struct {
		monitors string
		server   server
		want     []string // the jobs in one line
		unread   []targets.Unread
		asked    []string
	}{
		"a namespace": {serviceMonitor,
			server{pages: map[string][]string{inShop + "endpoints": {endpoints}, inShop + "services": {service},
				inShop + "pods": nil, "/api/v1/namespaces": {namespace}}},
			[]string{"1 target"}, nil,
			[]string{"/api/v1/namespaces", inShop + "endpoints", inShop + "pods", inShop + "services"}},
		"pages": {podMonitor,
			server{pages: map[string][]string{"/api/v1/pods": {pod("a", "10.0.0.1"), pod("b", "10.0.0.2")}}},
			[]string{"2 targets"}, nil, []string{"/api/v1/namespaces", "/api/v1/pods", "/api/v1/pods"}},
		"pages that expire": {podMonitor,
			server{pages: map[string][]string{"/api/v1/pods": {pod("a", "10.0.0.1"), pod("b", "10.0.0.2")}},
				expires: true},
			[]string{"2 targets"}, nil,
			[]string{"/api/v1/namespaces", "/api/v1/pods", "/api/v1/pods", "/api/v1/pods", "/api/v1/pods"}},
		"all namespaces are forbidden, and one is not": {serviceMonitor + podMonitor,
			server{pages: map[string][]string{inShop + "endpoints": {endpoints}, inShop + "services": {service},
				inShop + "pods": nil}},
			[]string{"1 target", "its targets are not known: pods cannot be listed"},
			[]targets.Unread{{Resource: "pods", Why: "the user may not list them",
				Rule: `{apiGroups: [""], resources: [pods], verbs: [list]}`}},
			[]string{"/api/v1/namespaces", inShop + "endpoints", inShop + "pods", inShop + "services",
				"/api/v1/pods"}},
		"some kinds are forbidden": {serviceMonitor,
			server{pages: map[string][]string{inShop + "endpoints": {endpoints}, inShop + "pods": nil}},
			[]string{"its targets are not known: services cannot be listed"},
			[]targets.Unread{{Resource: "services", Namespace: "shop", Why: "the user may not list them",
				Rule: `{apiGroups: [""], resources: [services], verbs: [list]}`}},
			[]string{"/api/v1/namespaces", inShop + "endpoints", inShop + "pods", inShop + "services"}},
		"a namespace that is not there": {serviceMonitor,
			server{pages: map[string][]string{inShop + "endpoints": nil, inShop + "services": nil,
				inShop + "pods": nil, "/api/v1/namespaces": {strings.ReplaceAll(namespace, "shop", "shops")}}},
			[]string{"no target: the cluster has no namespace shop; did you mean shops?"}, nil,
			[]string{"/api/v1/namespaces", inShop + "endpoints", inShop + "pods", inShop + "services"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.server
			listening := httptest.NewServer(&s)
			defer listening.Close()
			all := jobs(t, hierarchy+c.monitors)
			cluster, err := targets.FromServer(t.Context(), &rest.Config{Host: listening.URL}, all)
			if err != nil {
				t.Fatal(err)
			}
			report, err := targets.Compute(t.Context(), cluster, all)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range report.Jobs {
				got = append(got, j.String())
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := gocmp.Diff(c.unread, report.Unread); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			slices.Sort(s.asked)
			slices.Sort(c.asked)
			if diff := gocmp.Diff(c.asked, s.asked); diff != "" {
				t.Errorf("asked: -want +got:\n%s", diff)
			}
		})
	}
}
