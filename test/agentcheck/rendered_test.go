package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

// departure is a finding that an input is meant to lead to, with the reason.
type departure struct {
	input  string
	rule   check.Rule
	text   string // part of the message
	reason string
}

func (d departure) covers(in input, f check.Finding) bool {
	return d.input == in.name && d.rule == f.Rule && strings.Contains(f.Message, d.text)
}

func departures() []departure {
	return []departure{
		{"generator/alloy-logs-written.txtar", check.LogsJob, "open /geo.mmdb: no such file",
			"the database of places is not here"},
		{"generator/alloy-integrations.txtar", check.Start, "neither mysqld_exporter.data_source_name",
			"no pod defines MYSQL_DSN: Flow mode has it"},
		{"generator/alloy-integrations.txtar", check.Start, "password or private_key must be specified",
			"no pod defines SNOWFLAKE_PASSWORD: Flow mode has it"},
		{"generator/alloy-integrations-bad.txtar", check.Load, "field bogus not found",
			"the agent has no such field either"},
	}
}

// TestRenderedConfigs renders every input that there is, bad ones included: agents run what
// comes out, and do with it what was meant.
func TestRenderedConfigs(t *testing.T) {
	agentry := build(t)
	unused := departures()
	configs := 0
	for _, in := range inputs(t) {
		for _, policy := range []string{"plaintext", "reference"} {
			t.Run(in.name+"/"+policy, func(t *testing.T) {
				for _, c := range render(t, agentry, in, policy) {
					configs++
					used := checkConfig(t, in, c)
					unused = slices.DeleteFunc(unused, func(d departure) bool { return slices.Contains(used, d) })
				}
			})
		}
	}
	for _, d := range unused {
		t.Errorf("this departure does not happen: %s: %s: %s", d.input, d.text, d.reason)
	}
	if configs < 200 {
		t.Errorf("only %d configurations were checked", configs)
	}
}

// checkConfig reports what is wrong with a configuration, and returns the departures that
// account for the rest.
func checkConfig(t *testing.T, in input, c rendered.Config) (used []departure) {
	t.Helper()
	if c.Workload == "" {
		t.Errorf("%s: no workload mounts it", filepath.Base(c.File))
	}
	for _, f := range check.Check(c.Text, c.Pod) {
		if f.Rule == check.Destination && !in.example {
			continue // the others are about something else, and leave destinations out
		}
		i := slices.IndexFunc(departures(), func(d departure) bool { return d.covers(in, f) })
		if i < 0 {
			t.Errorf("%s, for %s: %s", filepath.Base(c.File), c.Workload, f)
			continue
		}
		used = append(used, departures()[i])
	}
	return used
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agentry")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/agentry")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// render renders an input. Errors in it do not matter here; but examples, which come without
// secrets, have none by reference.
func render(t *testing.T, agentry string, in input, policy string) []rendered.Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(agentry, "render", "--no-pipeline", "--compatibility", in.mode, "--secrets", policy, "-o", dir,
		in.path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err != nil && (cmd.ProcessState.ExitCode() != 1 || in.example && policy == "reference") {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	configs, err := rendered.Read(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return configs
}
