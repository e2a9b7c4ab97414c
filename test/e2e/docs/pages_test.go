package docs

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// typed is what a page takes for granted before its commands are typed, and what its reader sees
// afterwards, besides that none of them fails.
type typed struct {
	before func(*session)
	after  func(s *session, said string)
}

// pages are the pages whose commands are typed here.
func pages() map[string]typed {
	return map[string]typed{
		"README.md": {func(s *session) {
			s.publish("quickstart")
			s.checkout()
		}, says("1 MetricsInstance", "pushed", "environments/quickstart")},
		"docs/quickstart.md": {inExample("quickstart"),
			says("Probe/team-search/frontpage", "one label of the namespace away", "series end")},
		"docs/testing.md": {inExample("quickstart"), wrote("report.xml", `tests="3" failures="0"`)},
		"docs/diff.md": {changedExample,
			says("no difference", "pods reload", "different series are kept")},
		"docs/explain.md": {inExample("quickstart"),
			says("job serviceMonitor/team-shop/checkout/0", "Used by", `"rendersTo"`)},
		"docs/upgrade.md": {inExample("quickstart"), says("no difference")},
		"docs/targets.md": {endpointsInCluster,
			says("serviceMonitor/team-shop/checkout/0: 1 target, 1 dropped (1: port is not metrics)",
				"http://10.0.0.7:8080/metrics  of Service/team-shop/checkout", "there is no Pod in namespace team-shop")},
		"docs/alloy.md": {inExample("quickstart"),
			says(`prometheus.remote_write "monitoring__primary"`)},
		"docs/alloy-reference.md": {inExample("quickstart"), says("--cluster.join-addresses=")},
		"docs/input.md":           {monitorsInCluster, nothing},
		"docs/commands.md":        {inExample("quickstart"), nothing},
		"docs/install.md": {func(s *session) {
			s.checkout()
			s.values()
		}, says("STATUS: deployed", "Phase:          Succeeded")},
		"charts/agentry/README.md": {func(s *session) {
			s.checkout()
			s.values()
		}, says("STATUS: deployed", "Phase:          Succeeded")},
		"charts/sd-aggregator/README.md": {(*session).checkout, says("STATUS: deployed", "Phase:          Succeeded")},
		"docs/metrics.md": {inExample("quickstart"),
			wrote("agentry.prom", `agentry_ready{pipeline="quickstart"} 1`)},
		"docs/replicas.md":      {replicas, held},
		"docs/sd-aggregator.md": {integrations, kubeletService},
		"docs/secrets-reference.md": {workloads,
			says("statefulset.apps/grafana-agent restarted", "daemonset.apps/grafana-agent-logs restarted")},
		"docs/serve.md":           {inExample("quickstart"), says("quickstart", "the output is")},
		"docs/serve-reference.md": {inExample("quickstart"), traced},
		"docs/webhooks.md":        {webhook, triggered},
		"docs/workloads.md":       {inExample("quickstart"), says("grafana/agent:v0.44.8")},
		"examples/quickstart/README.md": {func(s *session) {
			inExample("quickstart")(s)
			s.namespaces("monitoring")
		}, says("created")},
		"examples/platform/README.md": {inExample("platform"), says("must be counter, gauge or histogram")},
	}
}

func nothing(*session, string) {}

// says looks for texts in what the page's commands print.
func says(texts ...string) func(*session, string) {
	return func(s *session, said string) {
		s.t.Helper()
		for _, text := range texts {
			if !strings.Contains(said, text) {
				s.t.Errorf("nothing says %q; at the end they say\n%s", text, end(said))
			}
		}
	}
}

// wrote looks for a text in a file.
func wrote(file, text string) func(*session, string) {
	return func(s *session, _ string) {
		s.t.Helper()
		if got, err := os.ReadFile(filepath.Join(s.Dir, file)); err != nil || !strings.Contains(string(got), text) {
			s.t.Errorf("%s does not say %s: %v\n%s", file, text, err, got)
		}
	}
}

// checkout makes the session's folder a copy of this repository, without Git. It is the same folder
// each time, with what was built there the last time, since Go compiles what is elsewhere anew.
func (s *session) checkout() {
	s.t.Helper()
	s.Dir = harness.Cached(s.t, "checkout")
	for _, name := range []string{"Makefile", "go.mod", "go.sum", "cmd", "charts", "docs", "examples", "generator",
		"gitsync", "inputs", "internal", "sd", "test/demo"} {
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			s.t.Fatal(err)
		}
		s.copy(name, name)
	}
}

// copy copies a file or folder of the repository.
func (s *session) copy(from, to string) {
	s.t.Helper()
	from, to = filepath.Join(harness.Root(), from), filepath.Join(s.Dir, to)
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// publish pushes an example to the repository of git.example.com.
func (s *session) publish(example string) {
	s.t.Helper()
	user := s.forge.NewUser(s.t)
	if err := os.CopyFS(user.Dir, os.DirFS(filepath.Join(harness.Root(), "examples", example))); err != nil {
		s.t.Fatal(err)
	}
	user.Push(s.t, "Start")
}

// inExample is in the folder of an example, which is also at git.example.com.
func inExample(example string) func(*session) {
	return func(s *session) {
		s.t.Helper()
		s.publish(example)
		s.copy(filepath.Join("examples", example), ".")
	}
}

// changedExample makes the session's folder a repository with an edit that is not committed.
func changedExample(s *session) {
	s.t.Helper()
	s.copy(filepath.Join("examples", "platform"), ".")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	name := filepath.Join(s.Dir, "teams/shop/monitors.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), "go_gc_", "go_threads|go_gc_", 1)), 0o600); err !=
		nil {
		s.t.Fatal(err)
	}
}

// write writes files into the session's folder.
func (s *session) write(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// values makes values.yaml, of the first example of the chart's page, and the files of its login.
func (s *session) values() {
	s.t.Helper()
	for _, b := range blocks(s.t) {
		if b.Page == "charts/agentry/README.md" && strings.HasPrefix(b.Text, "# values.yaml\n") {
			s.write(map[string]string{"values.yaml": b.Text, "user": "agentry", "token": "secret"})
			return
		}
	}
	s.t.Fatal("charts/agentry/README.md has no values.yaml")
}

// monitorsInCluster: ServiceMonitors are in the cluster and in the folder.
func monitorsInCluster(s *session) {
	s.t.Helper()
	inExample("quickstart")(s)
	s.definitions("servicemonitors")
	s.namespaces("team-shop")
	s.Must(`kubectl create -f - <<EOF
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: team-shop}
spec: {selector: {matchLabels: {app: checkout}}, endpoints: [{port: metrics}]}
EOF`)
}

// endpointsInCluster: the Service of a monitor of the example, with endpoints as Kubernetes writes them.
func endpointsInCluster(s *session) {
	s.t.Helper()
	inExample("quickstart")(s)
	s.namespaces("team-shop", "team-search")
	s.Must(`kubectl create -f - <<EOF
apiVersion: v1
kind: Service
metadata: {name: checkout, namespace: team-shop, labels: {app: checkout}}
spec: {ports: [{name: metrics, port: 8080}, {name: web, port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: checkout, namespace: team-shop}
subsets: [{addresses: [{ip: 10.0.0.7}], ports: [{name: metrics, port: 8080}, {name: web, port: 80}]}]
EOF`)
}

// replicas: a folder of pipelines, and a namespace for the Lease.
func replicas(s *session) {
	s.t.Helper()
	inExample("quickstart")(s)
	s.namespaces("agentry")
	s.Must("mkdir pipelines && mv pipeline.yaml pipelines")
}

// held: the Lease of which the page tells has a holder.
func held(s *session, said string) {
	s.t.Helper()
	says("agentry ")(s, said)
	harness.Eventually(s.t, "the replica is active", func() error {
		if got := s.Must("kubectl -n agentry get lease agentry -o jsonpath={.spec.holderIdentity}"); !strings.Contains(
			got, "_") {
			return fmt.Errorf("the holder is %q", got)
		}
		return nil
	})
}

// integrations: a GrafanaAgent is known in its namespace, and so is a node.
func integrations(s *session) {
	s.t.Helper()
	s.namespaces("monitoring")
	s.Must(`kubectl apply -f - <<EOF
apiVersion: v1
kind: Service
metadata:
  name: agent-integrations-sd
  namespace: monitoring
  labels: {app.kubernetes.io/managed-by: grafana-agent-operator, grafana-agent: agent, agentry.dev/addition: "true"}
spec: {clusterIP: None, selector: {grafana-agent: agent}, ports: [{name: http-metrics, port: 8080}]}
---
apiVersion: v1
kind: Node
metadata: {name: one}
EOF`)
	s.Must(`kubectl patch node one --subresource=status --type=merge -p '{"status": {"addresses": [{"type": "InternalIP", "address": "10.1.2.3"}]}}'`)
}

func kubeletService(s *session, said string) {
	s.t.Helper()
	says("[]")(s, said)
	harness.Eventually(s.t, "the kubelet Service lists the node", func() error {
		if got := s.Must("kubectl -n default get endpoints/kubelet -o jsonpath='{.subsets[*].addresses[*].ip}'"); got !=
			"10.1.2.3" {
			return fmt.Errorf("it lists %q", got)
		}
		return nil
	})
	s.Must("kubectl -n default delete service/kubelet endpoints/kubelet lease/sd-aggregator-kubelet " +
		"--ignore-not-found && kubectl delete node one")
}

// workloads: those of a GrafanaAgent with logs.
func workloads(s *session) {
	s.t.Helper()
	s.namespaces("monitoring")
	s.write(map[string]string{"agent.yaml": `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: grafana-agent, namespace: monitoring}
spec:
  serviceAccountName: grafana-agent
  metrics: {instanceSelector: {}, remoteWrite: [{url: https://mimir.example.com/api/v1/push}]}
  logs: {instanceSelector: {}, clients: [{url: https://loki.example.com/loki/api/v1/push}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary, namespace: monitoring}
spec: {}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: primary, namespace: monitoring}
spec: {}
`})
	s.Must("agentry render agent.yaml | kubectl apply -f -")
}

// traces counts what a collector gets.
type traces struct{ atomic.Int32 }

// ServeHTTP implements [http.Handler].
func (c *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/traces" {
		c.Add(1)
	}
	w.WriteHeader(http.StatusOK)
}

func traced(s *session, _ string) {
	s.t.Helper()
	harness.Eventually(s.t, "a trace of the first pass", func() error {
		if s.traces.Load() == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

// webhook: a service takes webhooks of any sender for a repository, at agentry.example.com.
func webhook(s *session) {
	s.t.Helper()
	s.publish("quickstart")
	s.write(map[string]string{"secret": "of the hook", "pipeline.yaml": `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  interval: 1h
  sources:
    - url: https://git.example.com/platform/monitoring.git
      ref: {branch: main}
      auth: {passwordEnv: GIT_TOKEN}
      webhook: {type: generic, secretFile: secret}
  output: {branch: environments/prod}
`})
	s.Env = append(s.Env, "SECRET=of the hook", "CI_COMMIT_SHA=0123456789abcdef")
	s.start(page.Block{Page: "docs/webhooks.md"}, "agentry serve -f pipeline.yaml")
}

func triggered(s *session, _ string) {
	s.t.Helper()
	if got := accepted(s.t); !strings.Contains(got, `result="accepted"`) {
		s.t.Errorf("the webhook was not accepted: %s", got)
	}
}

// accepted are the counts of webhooks that were taken.
func accepted(t *testing.T) string {
	t.Helper()
	text, err := get("http://127.0.0.1:9393/metrics")
	if err != nil {
		t.Fatal(err)
	}
	var found string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "agentry_webhook_requests_total{") && !strings.HasSuffix(line, " 0\n") {
			found += line
		}
	}
	return found
}
