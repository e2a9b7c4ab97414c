package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/agent/static/integrations/v2"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
)

// TestBad holds that the tool can fail. Each file begins with the findings that it leads
// to, and leads to no others.
func TestBad(t *testing.T) {
	for name, text := range fixtures(t, "testdata/bad/*.yaml") {
		t.Run(name, func(t *testing.T) {
			var want []string
			for line := range strings.Lines(text) {
				if w, ok := strings.CutPrefix(line, "# want: "); ok {
					want = append(want, strings.TrimSpace(w))
				}
			}
			if len(want) == 0 {
				t.Fatal("the file wants no finding")
			}
			if got := findings(text); !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestGood(t *testing.T) {
	for name, text := range fixtures(t, "testdata/good/*.yaml") {
		t.Run(name, func(t *testing.T) {
			for _, f := range findings(text) {
				t.Error(f)
			}
		})
	}
}

// TestEveryIntegrationIsTried holds that the good configuration leaves no integration out.
func TestEveryIntegrationIsTried(t *testing.T) {
	text := fixtures(t, "testdata/good/*.yaml")["integrations.yaml"]
	for _, one := range integrations.Registered() {
		if !strings.Contains(text, "\n  "+one.Name()+"_configs:") {
			t.Errorf("%s is not tried", one.Name())
		}
	}
}

// TestAgain holds that a check leaves nothing behind that changes the next one: neither in
// the agent's globals nor in the environment.
func TestAgain(t *testing.T) {
	t.Setenv("AGENTCHECK_TEST", "kept")
	all := fixtures(t, "testdata/*/*.yaml")
	for name, text := range all {
		first := findings(text)
		if second := findings(text); !slices.Equal(first, second) {
			t.Errorf("%s: first %q, then %q", name, first, second)
		}
	}
	if os.Getenv("AGENTCHECK_TEST") != "kept" {
		t.Error("the environment has changed")
	}
}

// TestEnvironment holds that the agent sees the pod's variables and not those of this process.
func TestEnvironment(t *testing.T) {
	t.Setenv("AGENTCHECK_TEST", "mine")
	const text = `metrics: {global: {external_labels: {"${IN_POD:-a/b}": "", "x${AGENTCHECK_TEST}": ""}}}`
	pod := check.DefaultPod()
	if got := check.Check(text, pod); len(got) != 1 || !strings.Contains(got[0].Message, "a/b") {
		t.Errorf("without the variable: %v", got)
	}
	pod.Agent["IN_POD"] = "fine"
	if got := check.Check(text, pod); len(got) != 0 {
		t.Errorf("with the variable: %v", got)
	}
	pod.Agent["AGENTCHECK_TEST"] = "/"
	if got := check.Check(text, pod); len(got) != 1 || !strings.Contains(got[0].Message, `"x/"`) {
		t.Errorf("with a bad value: %v", got)
	}
}

// TestArguments holds that the agent's arguments count.
func TestArguments(t *testing.T) {
	pod := check.DefaultPod()
	pod.Args = []string{"-enable-feature=integrations-next"}
	got := check.Check("{}", pod)
	if len(got) != 1 || got[0].Rule != check.Load || !strings.Contains(got[0].Message, "not defined: -enable-feature") {
		t.Errorf("got %v", got)
	}
}

func fixtures(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s, %v", pattern, err)
	}
	out := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(data)
	}
	return out
}

func findings(text string) (out []string) {
	for _, f := range check.Check(text, check.DefaultPod()) {
		out = append(out, f.String())
	}
	return out
}
