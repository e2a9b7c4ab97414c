package alive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
	"github.com/agentry-dev/agentry/test/fixtures"
)

const logs = "DaemonSet/monitoring/agent-logs"

// TestLogsAreTheSame reads the same files with the agent and with its Flow mode, Alloy's ancestor, through every stage:
// lines, labels, times, tenants and the metrics of pipelines are the same. Both ask for the pods of their node only.
func TestLogsAreTheSame(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	files := map[string]string{}
	for _, format := range []string{"cri", "docker", "json", "text"} {
		files[format] = n.run(t, format, ownNode, map[string]string{"format": format})
		write(t, files[format], formats[format]...)
	}
	write(t, n.run(t, "elsewhere", another, map[string]string{"format": "text"}), "of another node")
	static, native := startLoki(t), startLoki(t)
	agent := startAgent(t, "the agent", n.render(t, "logs", static))
	alloy := startFlow(t, n.render(t, "logs", native, "--runtime", "alloy"), t.TempDir())

	const least = 90
	static.settled(t, least)
	native.settled(t, least)
	if d := cmp.Diff(static.got(), native.got()); d != "" {
		t.Fatalf("-agent +alloy:\n%s", d)
	}
	for format, file := range files { // what comes later
		write(t, file, formats[format]...)
	}
	static.settled(t, 2*least)
	native.settled(t, 2*least)
	if d := cmp.Diff(static.got(), native.got()); d != "" {
		t.Fatalf("later: -agent +alloy:\n%s", d)
	}
	if d := cmp.Diff([]string{"spec.nodeName=" + ownNode}, n.selectors()); d != "" {
		t.Errorf("other pods are asked for:\n%s", d)
	}
	want, got := pipelineMetrics(t, agent.address), pipelineMetrics(t, alloy.address)
	if d := cmp.Diff(want, got); d != "" || len(want) < 10 {
		t.Errorf("%d metrics of pipelines: -agent +alloy:\n%s", len(want), d)
	}
}

// formats are lines as containers write them.
var formats = map[string][]string{
	"cri": {
		"2024-01-02T03:04:05.000000001Z stdout F one",
		"2024-01-02T03:04:06.5Z stderr P two, ",
		"2024-01-02T03:04:06.6Z stderr F to its end",
		"no such format",
	},
	"docker": {
		`{"log":"one\n","stream":"stdout","time":"2024-01-02T03:04:05.000000001Z"}`,
		`{"log":"two\n","stream":"stderr","time":"2024-01-02T03:04:06Z"}`,
		"no such format",
	},
	"json": {
		`{"level":"info","time":"2024-01-02T03:04:05Z","user":{"name":"ada"},"message":"{\"inner\":\"x\"}"}`,
		`{"level":"debug","time":"1704164646","user":{"name":"bob"},"message":"hidden"}`,
		`{"level":"warn","time":"1704164647","user":{"name":""},"message":"shown"}`,
		`{"level":17,"time":"yesterday","message":null}`,
		"no such format",
	},
	"text": {
		"2024-01-02 03:04:05 INFO 5 started  slowly",
		"2024-01-02 03:04:06 WARN 50 paid with card=1234 and card=5678",
		"\tat the first line",
		"\tat the second line",
		"\tat the third line",
		"2024-01-02 03:04:07 INFO 500 health",
		"2024-01-02 03:04:08 ERROR a line that is longer than others, by far, so that it is dropped somewhere",
		"no such format ${HOSTNAME} $(HOSTNAME) \\ \"",
	},
}

// render returns the configuration of the pods that read the node's logs. A pod says ready before it has read anything.
func (n *node) render(t *testing.T, folder string, to *loki, options ...string) rendered.Config {
	t.Helper()
	m := newManifests(t, folder, "", options...)
	m.replace(t, "loki.example.com", to.address())
	m.replace(t, "http://apiserver.example.com", n.api.URL)
	configs, _ := m.render(t)
	return n.here(configs[logs])
}

// startFlow starts Flow mode in what a pod of Alloy would give it. Functions have their old names there.
func startFlow(t *testing.T, c rendered.Config, data string) *process {
	t.Helper()
	if c.Workload == "" {
		t.Fatal("nothing is rendered for Alloy")
	}
	text, missing := check.Reload(c.Text, c.Pod.Reloader)
	if len(missing) > 0 {
		t.Fatalf("%s needs the variables %s", c.File, missing)
	}
	config := filepath.Join(t.TempDir(), "config.river")
	text = strings.ReplaceAll(fixtures.InFlow(text), volume, data)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, "Flow mode", func(addresses []string) *exec.Cmd {
		cmd := exec.Command(built("grafana-agent"))
		for _, arg := range c.Pod.Args {
			cmd.Args = append(cmd.Args, strings.NewReplacer(volume, data, "/var/lib/grafana-agent/config/config.alloy",
				config).Replace(arg))
		}
		cmd.Args = append(cmd.Args, "--server.http.listen-addr="+addresses[0], "--disable-reporting")
		cmd.Dir = data
		cmd.Env = []string{"TMPDIR=" + data, "AGENT_MODE=flow"}
		for name, value := range c.Pod.Agent {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		return cmd
	})
}

var (
	ofPipelines  = regexp.MustCompile(`(?m)^(?:promtail_custom_|my_)\w+(?:\{.*\})? .*$`)
	ofComponents = regexp.MustCompile(`(?:component_id|component_path|logs_config)="[^"]*",?`)
)

// pipelineMetrics are the metrics that pipelines make, without the labels that tell where.
func pipelineMetrics(t *testing.T, address string) (out []string) {
	t.Helper()
	text, err := read("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range ofPipelines.FindAllString(string(text), -1) {
		out = append(out, strings.ReplaceAll(ofComponents.ReplaceAllString(line, ""), ",}", "}"))
	}
	slices.Sort(out)
	return out
}

// TestPositionsAreTakenOver stops the agent and starts Alloy on the same volume, while a container goes on writing:
// every line arrives once. So it does when Alloy is started again.
func TestPositionsAreTakenOver(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	file := n.run(t, "web", ownNode, nil)
	lines := 0
	more := func() {
		for range 50 {
			lines++
			write(t, file, fmt.Sprintf("line %d", lines))
		}
	}
	to := startLoki(t)
	more()
	agent := startAgent(t, "the agent", n.render(t, "takeover", to))
	to.settled(t, lines)
	more()
	to.settled(t, lines)
	agent.stop()
	more()
	c := n.render(t, "takeover", to, "--runtime", "alloy")
	for range 2 {
		alloy := startFlow(t, c, agent.data)
		to.settled(t, lines)
		more()
		to.settled(t, lines)
		alloy.stop()
		more()
	}
	startFlow(t, c, agent.data)
	to.settled(t, lines)
	got := to.got()
	for line, times := range got {
		if times != 1 {
			t.Errorf("%d times: %s", times, line)
		}
	}
	if len(got) != lines {
		t.Errorf("%d of %d lines", len(got), lines)
	}
}

// stop lets a process end as Kubernetes does, and waits for it.
func (p *process) stop() {
	syscall.Kill(p.cmd.Process.Pid, syscall.SIGTERM)
	<-p.exited
}
