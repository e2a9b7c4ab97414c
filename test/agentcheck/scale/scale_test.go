package scale

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/agentcheck/agentbinary"
	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
	"github.com/agentry-dev/agentry/test/fixtures"
)

const (
	patience = 10 * time.Minute
	// maxRetries is how often Alloy tries again to evaluate a component while its queue of 1,024 is full. Then it gives
	// up, and the component keeps its old targets. Flow mode tries on.
	maxRetries = 19
	// maxOwnMetrics is how large the agent's own metrics may be in Flow mode: it has series for each component.
	maxOwnMetrics = 3 << 20
)

// BenchmarkAgents runs an agent in each mode until all its targets are up. Figures of Flow mode have a ratio to those
// of static mode.
func BenchmarkAgents(b *testing.B) {
	agentry := filepath.Join(b.TempDir(), "agentry")
	build := exec.Command("go", "build", "-o", agentry, "./cmd/agentry")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, monitors := range []int{1000, 5000} {
		var static figures
		for _, mode := range []string{"static", "flow"} {
			b.Run(fmt.Sprintf("%s/%d", mode, monitors), func(b *testing.B) {
				for b.Loop() {
					f := run(b, agentry, mode, monitors)
					f.report(b)
					if mode == "static" {
						static = f
						continue
					}
					if f.ownMetrics > maxOwnMetrics {
						b.Errorf("its own metrics have %d bytes", f.ownMetrics)
					}
					if static.peak > 0 {
						b.ReportMetric(float64(f.peak)/float64(static.peak), "peak/static")
						b.ReportMetric(f.ready.Seconds()/static.ready.Seconds(), "ready/static")
					}
				}
			})
		}
	}
}

// figures are what one agent took.
type figures struct {
	ready      time.Duration // until all targets were up and stored
	peak       int           // resident memory, in bytes
	watches    int64         // of the API server
	ownMetrics int           // the size of its own metrics, in bytes
	delayed    int           // evaluations of components for which the queue was full
}

func (f figures) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // says nothing
	b.ReportMetric(f.ready.Seconds(), "ready-s")
	b.ReportMetric(float64(f.peak)/(1<<20), "peak-MB")
	b.ReportMetric(float64(f.watches), "watches")
	b.ReportMetric(float64(f.ownMetrics)/(1<<20), "own-metrics-MB")
	b.ReportMetric(float64(f.delayed), "delayed")
}

// run starts an agent, waits until all targets are up, and stops it.
func run(b *testing.B, agentry, mode string, monitors int) (f figures) {
	b.Helper()
	host, port := newTarget(b)
	c, s := newCluster(b, monitors, host, port), newStore(b)
	config := render(b, agentry, mode, manifests(monitors, c.URL, s.URL))
	start := time.Now()
	a := launch(b, mode, config)
	defer a.stop()
	for s.count() < monitors*pods {
		if time.Since(start) > patience || a.exited() {
			b.Fatalf("%d of %d targets are up; the agent says:\n%.3000s", s.count(), monitors*pods, a.log())
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.ready = time.Since(start)
	f.watches = c.watches.Load()
	f.ownMetrics = a.ownMetrics(b)
	f.peak = a.peak(b)
	for line := range strings.Lines(a.log()) {
		switch delayed := strings.Contains(line, "failed to submit node"); {
		case delayed && strings.Contains(line, fmt.Sprintf("retries=%d", maxRetries)):
			b.Errorf("an update of targets is lost: %s", line)
		case delayed:
			f.delayed++
		}
	}
	return f
}

// manifests are the custom resources.
func manifests(monitors int, cluster, store string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {serviceAccountName: agent, apiServer: {host: %q}, metrics: {scrapeInterval: 15s, instanceSelector: {}, remoteWrite: [{url: '%s/push'}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}}
`, cluster, store)
	for i := range monitors {
		fmt.Fprintf(&b, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: app-%[1]d, namespace: %[2]s}\n"+
			"spec: {selector: {matchLabels: {app: app-%[1]d}}, endpoints: [{port: web}]}\n", i, namespace(i))
	}
	return b.String()
}

// render returns the configuration for a mode.
func render(b *testing.B, agentry, mode, text string) rendered.Config {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	program, read := "agent", rendered.Read
	if mode == "flow" {
		program, read = "alloy", rendered.ReadAlloy
	}
	out := filepath.Join(dir, "out")
	cmd := exec.Command(agentry, "render", "--compatibility", "current", "--runtime", program, "-o", out,
		filepath.Join(dir, "fleet.yaml"))
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
	configs, err := read(out)
	if err != nil || len(configs) != 1 {
		b.Fatalf("%d configurations: %v", len(configs), err)
	}
	c := configs[0]
	replaced, missing := check.Reload(c.Text, c.Pod.Reloader)
	if len(missing) > 0 {
		b.Fatalf("missing variables: %s", missing)
	}
	c.Text = replaced
	if mode == "flow" {
		c.Text = fixtures.InFlow(c.Text)
	}
	return c
}

// agent is an agent that runs.
type agent struct {
	cmd     *exec.Cmd
	address string
	file    string // the log
	done    chan struct{}
}

func launch(b *testing.B, mode string, c rendered.Config) *agent {
	b.Helper()
	dir := b.TempDir()
	config := filepath.Join(dir, "config")
	text := strings.ReplaceAll(c.Text, "/var/lib/grafana-agent/data", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	a := &agent{address: free(b), file: filepath.Join(dir, "log"), done: make(chan struct{})}
	args := append(c.Pod.Args, "-config.file="+config, "-disable-reporting", "-server.http.address="+a.address,
		"-server.grpc.address="+free(b))
	if mode == "flow" {
		args = []string{"run", config, "--server.http.listen-addr=" + a.address, "--storage.path=" + dir,
			"--disable-reporting"}
	}
	log, err := os.Create(a.file)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	a.cmd = exec.Command(agentbinary.Build(b), args...)
	a.cmd.Env = append(os.Environ(), "AGENT_MODE="+mode)
	for name, value := range c.Pod.Agent {
		a.cmd.Env = append(a.cmd.Env, name+"="+value)
	}
	a.cmd.Stdout, a.cmd.Stderr, a.cmd.Dir = log, log, dir
	if err := a.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait() // the log has the reason
		close(a.done)
	}()
	return a
}

func (a *agent) stop() {
	_ = a.cmd.Process.Kill()
	<-a.done
}

func (a *agent) exited() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *agent) log() string {
	text, _ := os.ReadFile(a.file)
	return string(text)
}

// ownMetrics is the size of the agent's own metrics in bytes.
func (a *agent) ownMetrics(b *testing.B) int {
	b.Helper()
	r, err := http.Get("http://" + a.address + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		b.Fatal(err)
	}
	return int(n)
}

// peak is the most resident memory that the agent had, in bytes (Linux).
func (a *agent) peak(b *testing.B) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	var kB int
	if _, err := fmt.Sscanf(string(after), "%d kB", &kB); err != nil {
		b.Fatal(err)
	}
	return kB << 10
}

// free returns an address that nobody listens at.
func free(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
