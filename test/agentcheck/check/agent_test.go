package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/agentcheck/agentbinary"
	"github.com/agentry-dev/agentry/test/agentcheck/check"
)

// TestTheAgentAgrees holds what is found about loading against the agent itself. Without a
// pseudo address for calls inside the process it stops right after loading, and says so.
func TestTheAgentAgrees(t *testing.T) {
	agent := agentbinary.Build(t)
	for name, text := range fixtures(t, "testdata/*/*.yaml") {
		t.Run(name, func(t *testing.T) {
			pod := check.DefaultPod()
			file := filepath.Join(t.TempDir(), "agent.yml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(agent, append(pod.Args, "-config.file="+file, "-server.http.in-memory-addr=")...)
			cmd.Dir = t.TempDir() // for what it writes without a home
			for name, value := range pod.Agent {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			out, _ := cmd.CombinedOutput() // it always exits with an error
			loaded := strings.Contains(string(out), "in memory HTTP address must be configured")
			if want := loads(text, pod); loaded != want {
				t.Errorf("the agent loads it: %t, by this package: %t\n%s", loaded, want, out)
			}
		})
	}
}

func loads(text string, pod check.Pod) bool {
	for _, f := range check.Check(text, pod) {
		if f.Rule == check.Load || f.Rule == check.Panic {
			return false
		}
	}
	return true
}
