package adoption

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// fleet is a GrafanaAgent with each kind of workload.
const fleet = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: fleet, namespace: restarts}
spec:
  serviceAccountName: default
  logLevel: info
  resources: {requests: {cpu: 100m}}
  metrics:
    shards: 2
    replicas: 1
    instanceSelector: {}
    externalLabels: {cluster: one}
    remoteWrite: [{url: https://mimir.example.com/api/v1/push}]
  logs: {instanceSelector: {}, clients: [{url: https://loki.example.com/loki/api/v1/push}]}
  integrations: {selector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: restarts}
spec: {serviceMonitorSelector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: restarts}
spec:
  selector: {matchLabels: {app: web}}
  endpoints:
    - port: http
      path: /metrics
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: main, namespace: restarts}
spec: {podLogsSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: PodLogs
metadata: {name: all, namespace: restarts}
spec: {selector: {}, namespaceSelector: {any: true}, pipelineStages: [{cri: {}}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: nodes, namespace: restarts}
spec: {name: node_exporter, type: {allNodes: true, unique: true}, config: {autoscrape: {enable: true, metrics_instance: restarts/main}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: cache, namespace: restarts}
spec: {name: redis, type: {unique: false}, config: {redis_addr: "redis:6379", autoscrape: {enable: true, metrics_instance: restarts/main}}}
`

// TestRestartsAreAsTold: the controllers of Kubernetes roll out exactly the workloads of which "agentry diff" says that
// their pods restart, and leave those alone of which it says that they only reload.
func TestRestartsAreAsTold(t *testing.T) {
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	cluster.OpenNamespaces(t, "restarts")
	seen := map[string]int{}
	for name, edit := range map[string]struct{ before, after string }{
		"nothing":             {"", ""},
		"the path of targets": {"path: /metrics", "path: /other"},
		"a label of samples":  {"cluster: one", "cluster: two"},
		"the level of logs":   {"logLevel: info", "logLevel: debug"},
		"a stage of logs":     {"[{cri: {}}]", "[{docker: {}}]"},
		"an integration":      {"redis:6379", "cache:6379"},
		"resources":           {"cpu: 100m", "cpu: 200m"},
		"labels of pods":      {"logLevel: info", "podMetadata: {labels: {team: shop}}"},
		"the image":           {"logLevel: info", "image: grafana/agent:v0.44.7"},
		"a Secret": {"path: /metrics",
			"basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}"},
		"more shards":   {"shards: 2", "shards: 3"},
		"fewer shards":  {"shards: 2", "shards: 1"},
		"more replicas": {"replicas: 1", "replicas: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := folder(t, fleet), folder(t, strings.Replace(fleet, edit.before, edit.after, 1))
			told := tell(t, before, after)
			was := w.roll(t, before)
			for id, now := range w.roll(t, after) {
				old, existed := was[id]
				if !existed || !isWorkload(now.object) {
					continue
				}
				kind := told[id]
				if rolled := !slices.Equal(old.revisions, now.revisions); rolled != (kind == "pods-restart") {
					t.Errorf("%s is rolled out: %v, but told is %q", id, rolled, kind)
				}
				seen[kind]++
			}
		})
	}
	for _, kind := range []string{"pods-restart", "pods-reload", ""} {
		if seen[kind] < 5 {
			t.Errorf("only %d workloads are %q", seen[kind], kind)
		}
	}
}

// folder writes manifests into a folder of their own.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tell returns what agentry diff says of pods, by workload.
func tell(t *testing.T, before, after string) map[string]string {
	t.Helper()
	out, err := exec.Command(harness.Agentry().Path(), "diff", "--compatibility", "current", "-o", "json",
		before+".."+after).Output()
	if err != nil {
		t.Fatal(err)
	}
	var difference struct {
		Consequences []struct{ Kind, Subject string }
	}
	if err := json.Unmarshal(out, &difference); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, c := range difference.Consequences {
		if kind, name, ok := strings.Cut(c.Subject, " "); ok && (c.Kind == "pods-restart" || c.Kind == "pods-reload") {
			told[kind+"/"+name] = c.Kind
		}
	}
	return told
}

// roll applies what is rendered of a folder, and returns it once the controllers have seen it.
func (w testbed) roll(t *testing.T, folder string) map[string]adopted {
	t.Helper()
	out, err := exec.Command(harness.Agentry().Path(), "render", "--compatibility", "current", folder).Output()
	if err != nil {
		t.Fatal(err)
	}
	objects := harness.Decode(t, out)
	for _, o := range objects {
		w.fluxApply(t, o)
	}
	for _, o := range objects {
		if isWorkload(o) {
			harness.Eventually(t, "a controller sees "+id(o), func() error { return w.isObserved(t, o) })
		}
	}
	return w.settled(t, objects)
}

// isObserved returns an error as long as a controller has not seen what a workload is now.
func (w testbed) isObserved(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	live, err := w.get(t, o)
	if err != nil {
		return err
	}
	if observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration"); observed !=
		live.GetGeneration() {
		return errors.New("not yet")
	}
	return nil
}
