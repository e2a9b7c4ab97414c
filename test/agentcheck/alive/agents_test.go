package alive

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

// manifests are custom resources, what they are rendered with, and to where.
type manifests struct {
	dir     string
	out     string
	options []string
}

// newManifests copies a folder of testdata. Agents write to a Prometheus at the address.
func newManifests(t *testing.T, folder, prometheus string, options ...string) *manifests {
	t.Helper()
	m := &manifests{dir: t.TempDir(), out: filepath.Join(t.TempDir(), "out"), options: options}
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no manifests", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("prometheus.example.com"), []byte(prometheus))
		if err := os.WriteFile(filepath.Join(m.dir, filepath.Base(file)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// replace writes an address in the place of another, in all files.
func (m *manifests) replace(t *testing.T, address, with string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(address), []byte(with)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *manifests) remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(m.dir, file)); err != nil {
		t.Fatal(err)
	}
}

// render returns the configurations by the workloads that mount them, and the report.
func (m *manifests) render(t *testing.T) (configs map[string]rendered.Config, report string) {
	t.Helper()
	args := append([]string{"render", "--compatibility", "operator", "-o", m.out, "--secrets", "reference"},
		m.options...)
	out, err := exec.Command(built("agentry"), append(args, m.dir)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all, err := rendered.Read(m.out)
	if err != nil {
		t.Fatal(err)
	}
	native, err := rendered.ReadAlloy(m.out)
	if err != nil {
		t.Fatal(err)
	}
	configs = map[string]rendered.Config{}
	for _, c := range append(all, native...) {
		configs[c.Workload] = c
	}
	return configs, string(out)
}

// agent is a real agent in what a pod would give it: its environment, its arguments, a
// volume, and a reloader, which writes the configuration.
type agent struct {
	*process
	config, data string
}

// volume is where rendered configurations keep data.
const volume = "/var/lib/grafana-agent/data"

// startAgent starts one on loopback.
func startAgent(t *testing.T, name string, c rendered.Config) *agent {
	t.Helper()
	a := newAgent(t, name, c)
	a.process = start(t, name, func(addresses []string) *exec.Cmd { return a.command(c, addresses) })
	return a
}

// startPod starts one at the address of a pod, which nobody else has.
func startPod(t *testing.T, name string, c rendered.Config, ip string) *agent {
	t.Helper()
	a := newAgent(t, name, c)
	addresses := []string{ip + ":8080", ip + ":9095"}
	a.process = launch(t, name, addresses[0], a.command(c, addresses))
	if err := a.ready(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	return a
}

func newAgent(t *testing.T, name string, c rendered.Config) *agent {
	t.Helper()
	if c.Workload == "" {
		t.Fatalf("nothing is rendered for %s", name)
	}
	a := &agent{config: filepath.Join(t.TempDir(), "agent.yml"), data: t.TempDir()}
	a.write(t, c)
	return a
}

// write does what the reloader does.
func (a *agent) write(t *testing.T, c rendered.Config) {
	t.Helper()
	text, missing := check.Reload(c.Text, c.Pod.Reloader)
	if len(missing) > 0 {
		t.Fatalf("%s needs the variables %s", c.File, missing)
	}
	text = strings.ReplaceAll(text, volume, a.data)
	if err := os.WriteFile(a.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command has the pod's arguments, but for what must differ outside; the last one counts.
// Usage reports would leave this machine.
func (a *agent) command(c rendered.Config, addresses []string) *exec.Cmd {
	cmd := exec.Command(built("grafana-agent"), c.Pod.Args...)
	cmd.Args = append(cmd.Args, "-config.file="+a.config, "-disable-reporting",
		"-server.http.address="+addresses[0], "-server.grpc.address="+addresses[1])
	cmd.Dir = a.data
	cmd.Env = []string{"TMPDIR=" + a.data}
	for name, value := range c.Pod.Agent {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// reload hands a new configuration to a running agent, as the reloader does.
func (a *agent) reload(t *testing.T, c rendered.Config) {
	t.Helper()
	a.write(t, c)
	resp, err := client().Post("http://"+a.address+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s reloads its configuration: %s", a.name, resp.Status)
	}
}
