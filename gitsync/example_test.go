package gitsync_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

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

// A program makes a pass over a repository: it commits what is rendered to the output branch. Only for a repository of
// this machine does that need git.
func ExampleSyncer() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fleet := filepath.Join(dir, "fleet")
	git := func(args ...string) string {
		who := []string{"-C", fleet, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}
		out, err := exec.Command("git", append(who, args...)...).Output()
		if err != nil {
			fmt.Println(args, err)
		}
		return string(out)
	}
	_ = os.Mkdir(fleet, 0o700)
	_ = os.WriteFile(filepath.Join(fleet, "agent.yaml"), []byte(`
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {serviceAccountName: agent, metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec: {remoteWrite: [{url: "https://mimir.example.com/api/v1/push"}]}
`), 0o600)
	git("init", "--quiet", "--initial-branch=main")
	git("add", ".")
	git("commit", "--quiet", "--message=The first agent")

	p := pipeline.Pipeline{Spec: pipeline.Spec{
		Sources: []pipeline.Source{{URL: "file://" + fleet, Ref: pipeline.Ref{Branch: "main"}}},
		Output:  pipeline.Output{Branch: "environments/prod"},
	}}
	p.Metadata.Name = "prod"
	p.Default()
	if wrong := p.Validate(); len(wrong) > 0 {
		fmt.Println(wrong)
		return
	}
	syncer, err := gitsync.New(p, gitsync.Credentials{}, gitsync.Options{CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer syncer.Close()
	report, err := syncer.Pass(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range report.Diags {
		fmt.Println(d)
	}
	fmt.Print(git("ls-tree", "--name-only", "environments/prod:monitoring/agent"))
	// Output:
	// .agentry
	// README.md
	// agent-config.secret.yaml
	// agent-operated.service.yaml
	// agent.statefulset.yaml
	// kustomization.yaml
}
