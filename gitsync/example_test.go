package gitsync_test

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// A program renders files as a Pipeline says, for instance to review them before they are committed.
func ExampleRender() {
	documents, _ := manifest.Documents(manifest.File{Path: "pipeline.yaml", Data: []byte(`
apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  runtime: alloy
  sources: [{url: "https://git.example.com/fleet.git", ref: {branch: main}}]
  output: {branch: environments/prod}
`)})
	var p pipeline.Pipeline
	if wrong := p.Read(documents[0]); len(wrong) > 0 {
		fmt.Println(wrong)
		return
	}
	out, err := gitsync.Render(&p, manifest.File{Path: "agent.yaml", Data: []byte(`
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec:
  serviceAccountName: agent
  logs: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: main, namespace: monitoring}
spec:
  clients: [{url: "https://loki.example.com/loki/api/v1/push"}]
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range out.Diags {
		fmt.Println(d)
	}
	for _, unit := range out.Units {
		for _, file := range unit.Files {
			fmt.Println(unit.Name + "/" + file.Path)
		}
	}
	// Output:
	// monitoring/agent/agent-logs-config.secret.yaml
	// monitoring/agent/agent-logs.daemonset.yaml
	// monitoring/agent/kustomization.yaml
}
