package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

// TestTheAgentAcceptsWhatAgentryAccepts renders scrape configurations at random: what agentry lets pass
// the agent must accept. AGENTCHECK_SCRAPECONFIGS is how long to go on, such as 5m, and
// AGENTCHECK_SEED where to begin.
func TestTheAgentAcceptsWhatAgentryAccepts(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.FromSlash(scrapeFolder + "testdata/agent.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.FromSlash(scrapeFolder + "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Types map[string]object }
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	long, _ := time.ParseDuration(os.Getenv("AGENTCHECK_SCRAPECONFIGS"))
	seed, _ := strconv.ParseUint(os.Getenv("AGENTCHECK_SEED"), 10, 64)
	d := &differential{T: t, agentry: buildAgentry(t)}
	for end := time.Now().Add(long); ; seed++ {
		m := newMutator(t, archive, schema.Types, seed)
		samples := make([]sample, 200)
		for i := range samples {
			samples[i] = m.sample("j" + strconv.Itoa(i))
		}
		d.batch(samples)
		if t.Failed() || time.Now().After(end) {
			break
		}
	}
	t.Logf("%d passed; %d were refused, %d of them the agent accepts; up to seed %d", d.passed, d.refused, d.stricter,
		seed)
	if d.passed == 0 || d.refused == 0 {
		t.Error("the samples are no test")
	}
}

type differential struct {
	*testing.T
	agentry                   string
	passed, refused, stricter int
}

func buildAgentry(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agentry")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/agentry")
	cmd.Dir = filepath.FromSlash("../../..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// batch renders all samples at once, and looks for the one to blame if the agent does not
// take the result.
func (d *differential) batch(samples []sample) {
	configs, told := d.render(samples)
	var passed []sample
	for i, s := range samples {
		if !strings.Contains(told, file(i)+":") || !strings.Contains(errorsOf(told, file(i)), "error[") {
			passed = append(passed, s)
			continue
		}
		d.refused++
		if ok, _ := accepted([]rendered.Config{{Text: agentFile(s.kind, s.text), Pod: check.DefaultPod()}}); ok {
			d.stricter++
			if os.Getenv("AGENTCHECK_STRICTER") != "" {
				d.Logf("the agent accepts\n%s%s", s.text, errorsOf(told, file(i)))
			}
		}
	}
	d.passed += len(passed)
	if ok, _ := accepted(configs); !ok {
		d.blame(passed)
	}
}

// blame halves samples that the agent refuses until one is left.
func (d *differential) blame(samples []sample) {
	configs, told := d.render(samples)
	ok, why := accepted(configs)
	switch {
	case ok:
	case len(samples) == 1:
		d.Errorf("the agent refuses\n%s%s\n%s", samples[0].text, why, told)
	default:
		d.blame(samples[:len(samples)/2])
		d.blame(samples[len(samples)/2:])
	}
}

// accepted asks the agent. What it reads from the pod's files, and clouds that it asks, are
// not here.
func accepted(configs []rendered.Config) (ok bool, why string) {
	for _, c := range configs {
		for _, f := range check.Check(c.Text, c.Pod) {
			if f.Level == check.Error && !strings.Contains(f.Message, "no such file or directory") &&
				!strings.Contains(f.Message, "requires a region") {
				return false, f.String()
			}
		}
	}
	return true, ""
}

func file(i int) string { return "s" + strconv.Itoa(i) + ".yaml" }

// errorsOf are the lines about a file.
func errorsOf(told, file string) string {
	var out strings.Builder
	for line := range strings.Lines(told) {
		if strings.HasPrefix(line, file+":") || strings.Contains(line, "/"+file+":") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// render renders samples, each in an instance of its own.
func (d *differential) render(samples []sample) (configs []rendered.Config, told string) {
	d.Helper()
	in, out := d.TempDir(), filepath.Join(d.TempDir(), "out")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	write("agent.yaml", "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
		"metadata: {name: a, namespace: m}\nspec: {metrics: {instanceSelector: {}}, logs: {instanceSelector: {}}}\n")
	for i, s := range samples {
		kind, to := "MetricsInstance", "remoteWrite"
		if s.kind == "logs" {
			kind, to = "LogsInstance", "clients"
		}
		job := "    - " + strings.TrimRight(strings.ReplaceAll(s.text, "\n", "\n      "), " ")
		write(file(i), fmt.Sprintf(
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: %s\nmetadata: {name: i%d, namespace: m}\n"+
				"spec: {%s: [{url: \"http://x/%d\"}], additionalScrapeConfigs: {name: s%[2]d, key: j}}\n"+
				"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s%[2]d, namespace: m}\nstringData:\n  j: |\n%[5]s",
			kind, i, to, i, job))
	}
	cmd := exec.Command(d.agentry, "render", "--compatibility", "operator", "--secrets", "plaintext", "-o", out, in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		d.Fatalf("%v: %s", err, stderr.Bytes())
	}
	configs, err = rendered.Read(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.Fatal(err)
	}
	return configs, stderr.String()
}
