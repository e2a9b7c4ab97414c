package adoption

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	pages "github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// TestMigrationPage types docs/migration.md, once with each tool, and holds what is printed
// against what stands there. With UPDATE=1 in the environment the page gets what was printed.
func TestMigrationPage(t *testing.T) {
	file := filepath.Join(harness.Root(), "docs", "migration.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, tool := range []string{"Flux", "Argo CD"} {
		t.Run(tool, func(t *testing.T) {
			got := playPage(t, page, tool)
			if os.Getenv("UPDATE") != "" {
				page = got
				return
			}
			if line := pages.Difference(page, got); line != "" {
				t.Errorf("docs/migration.md does not say what is printed; look at what UPDATE=1 makes of it: %s", line)
			}
		})
	}
	if page != string(text) && !t.Failed() {
		if err := os.WriteFile(file, []byte(page), 0o666); err != nil { //nolint:gosec // a page of the manual
			t.Fatal(err)
		}
	}
}

// playPage plays the page for the users of a tool in the installation that it tells of, and
// returns it with what was printed.
func playPage(t *testing.T, page, tool string) string {
	t.Helper()
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	c := readCase(t, "real-cloud-quickstart")
	_, rendered := c.render(t, "operator", "plaintext")
	w.remove(t, rendered...)
	if err := w.install(t, c); err != nil {
		t.Fatal(err)
	}
	for _, o := range harness.Decode(t, []byte(besideTheAgents)) {
		w.remove(t, o)
		w.account(t, o)
		if _, err := w.create(t, o, operatorManager); err != nil {
			t.Fatal(err)
		}
	}
	before := w.settled(t, c.operator)
	played := play(t, repository(t, c), page, tool)
	for _, o := range c.custom {
		if _, err := w.get(t, o); err == nil && strings.HasPrefix(o.GetAPIVersion(), "monitoring.grafana.com/") {
			t.Errorf("%s is still there", id(o))
		}
	}
	w.stays(t, before)
	return played
}

// besideTheAgents is the operator's Deployment, and the Service that it keeps for the kubelets.
const besideTheAgents = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: grafana-agent-operator, namespace: default}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: operator, image: grafana/agent-operator:v0.44.8}]}
---
apiVersion: v1
kind: Service
metadata: {name: kubelet, namespace: default, labels: {app.kubernetes.io/managed-by: grafana-agent-operator, app.kubernetes.io/name: kubelet, k8s-app: kubelet}}
spec: {clusterIP: None, ports: [{name: https-metrics, port: 10250}]}
`

// repository is a folder with the inputs.
func repository(t *testing.T, c conformance) string {
	t.Helper()
	input, err := os.ReadFile(c.input)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "clusters", "prod"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "clusters", "prod", "monitoring.yaml"), input, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// play plays a page in a folder, but for what is for users of another tool.
func play(t *testing.T, dir, page, tool string) string {
	t.Helper()
	shell := cluster.NewShell(t, dir)
	player := pages.Player{Run: shell.Must, Write: func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}}
	sections := regexp.MustCompile(`(?m)^##`).Split(page, -1)
	for i, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		if other, ok := strings.CutPrefix(title, "# With "); !ok || other == tool {
			sections[i] = player.Play(section)
		}
	}
	return strings.Join(sections, "##")
}
