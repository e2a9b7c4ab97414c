package adoption

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
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
			if line := firstDifference(page, got); line != "" {
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

func firstDifference(want, got string) string {
	wanted := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wanted) || wanted[i] != line {
			return "it prints " + line + "\ninstead of " + wanted[min(i, len(wanted)-1)]
		}
	}
	return ""
}

// playPage plays the page for the users of a tool in the installation that it tells of, and
// returns it with what was printed.
func playPage(t *testing.T, page, tool string) string {
	t.Helper()
	w := newWorld(t)
	defer w.deleteDefinitions(t)
	c := readCase(t, "real-cloud-quickstart")
	_, rendered := c.render(t, "plaintext")
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
	played := newShell(t, repository(t, c)).play(page, tool)
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

// play runs the sessions of a page, but those that are for users of another tool.
func (s *shell) play(page, tool string) string {
	sections := regexp.MustCompile(`(?m)^##`).Split(page, -1)
	for i, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		if other, ok := strings.CutPrefix(title, "# With "); ok && other != tool {
			continue
		}
		sections[i] = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$").ReplaceAllStringFunc(section, s.block)
	}
	return strings.Join(sections, "##")
}

// block writes a script, or runs a session and returns it with what was printed.
func (s *shell) block(block string) string {
	if script, ok := strings.CutPrefix(block, "```sh\n# "); ok {
		name, text, _ := strings.Cut(strings.TrimSuffix(script, "```"), "\n")
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		return block
	}
	var out strings.Builder
	spaces := regexp.MustCompile(`(?m) +$|\n+\z`)
	for _, line := range strings.SplitAfter(strings.TrimSuffix(block, "```"), "\n") {
		if command, typed := strings.CutPrefix(line, "$ "); typed {
			printed := spaces.ReplaceAllString(s.must(command), "")
			out.WriteString(line + strings.TrimPrefix(printed+"\n", "\n"))
		}
	}
	return "```console\n" + out.String() + "```"
}
