// Package agentbinary builds the real Grafana Agent v0.44.8 for tests.
package agentbinary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Build returns the path of the agent's binary.
func Build(t testing.TB) string {
	t.Helper()
	binary, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Path returns the path of the agent's binary. It lies in the user's cache and is only
// made anew when it is out of date, because linking it takes longer than most tests.
func Path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "agentry-test", "grafana-agent")
	unlock, err := lock(binary + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	build := exec.Command("go", "build", "-tags", "netgo,slicelabels", "-ldflags", "-s -w", "-buildvcs=false",
		"-o", binary, "github.com/grafana/agent/cmd/grafana-agent")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return binary, nil
}

// lock keeps tests of other packages from writing the binary while this one starts it: only
// the first to come writes it.
func lock(name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return func() { file.Close() }, syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
}
