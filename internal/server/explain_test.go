package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/explainers"
)

// hierarchyOf returns a render of a GrafanaAgent, an instance and n ServiceMonitors. The instance does not select the
// last one.
func hierarchyOf(n int) *explain.Render {
	var b strings.Builder
	b.WriteString(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m}
spec: {serviceMonitorSelector: {matchLabels: {team: a}}, serviceMonitorNamespaceSelector: {}, remoteWrite: [{url: "https://x.example.com/push"}]}
`)
	for i := range n {
		team := "a"
		if i == n-1 {
			team = "b"
		}
		fmt.Fprintf(&b, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: s%d, namespace: one, labels: {team: %s}}\n"+
			"spec: {selector: {}, endpoints: [{port: web}]}\n", i, team)
	}
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(b.String())}, manifest.Options{})
	out := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	return &out
}

func TestExplanationsOfTheLastPass(t *testing.T) {
	f := &fake{renders: map[string]*explain.Render{"a": hierarchyOf(3), "evicted": nil}}
	h := f.handler(nil)
	for name, test := range map[string]struct {
		path   string
		status int
		want   string // objects, or an error
	}{
		"one": {"a/explain?object=smon/one/s0", 200, "ServiceMonitor/one/s0 rendered"},
		"several": {"a/explain?object=smon/one/s0&object=smon/one/s2", 200,
			"ServiceMonitor/one/s0 rendered, ServiceMonitor/one/s2 not selected"},
		"by labels": {"a/explain?selector=team%3Db", 200, "ServiceMonitor/one/s2 not selected"},
		"nothing":   {"a/explain", 400, "no object is named"},
		"an invalid selector": {"a/explain?selector=team+in", 400,
			"the selector is invalid: unable to parse requirement: found '' expected: '('"},
		"an unknown object":    {"a/explain?object=smon/one/s9", 404, "there is no smon/one/s9"},
		"an unknown pipeline":  {"x/explain?object=smon/one/s0", 404, "no such pipeline"},
		"one that is not kept": {"evicted/explain?object=smon/one/s0", 503, "nothing is kept of the last pass"},
		"as many as may be asked": {"a/explain?" +
			url.Values{"object": repeat("smon/one/s0", explainers.MaxReferences)}.Encode(), 200,
			"ServiceMonitor/one/s0 rendered"},
		"more": {"a/explain?" +
			url.Values{"object": repeat("smon/one/s0", explainers.MaxReferences+1)}.Encode(), 400,
			"more than 100 objects, or a selector of more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(h, request{path: "/api/v1/pipelines/" + test.path})
			var said struct {
				explain.List
				Problem
			}
			if err := json.Unmarshal(got.Body.Bytes(), &said); err != nil || got.Code != test.status {
				t.Fatalf("%d %v %s", got.Code, err, got.Body)
			}
			var objects []string
			for _, e := range said.Items {
				objects = append(objects, e.Object.ID().String()+" "+string(e.State))
			}
			if diff := cmp.Diff(test.want, strings.Join(objects, ", ")+said.Error); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if test.status == 404 && !strings.HasPrefix(test.path, "x/") && said.Hint == "" {
				t.Error("no hint: the client takes it for an unknown pipeline")
			}
		})
	}
	var hits explain.SearchResult
	got := ask(h, request{path: "/api/v1/pipelines/a/objects?q=one+rendered"})
	if err := json.Unmarshal(got.Body.Bytes(), &hits); err != nil || hits.Total != 2 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func repeat(text string, n int) (out []string) {
	for range n {
		out = append(out, text)
	}
	return out
}

// TestManyAskAtOnce is for the race detector.
func TestManyAskAtOnce(t *testing.T) {
	f := &fake{renders: map[string]*explain.Render{"a": hierarchyOf(20)}}
	h := f.handler(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for _, path := range []string{fmt.Sprintf("explain?object=smon/one/s%d", i), "objects?q=one"} {
				if got := ask(h, request{path: "/api/v1/pipelines/a/" + path}); got.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
		})
	}
	all.Wait()
}
