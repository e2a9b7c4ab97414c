// Package agentbinary builds the real Grafana Agent v0.44.8 for tests.
package agentbinary

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Build returns the path of the agent's binary. It lies in the user's cache and is only
// made anew when it is out of date, because linking it takes longer than most tests.
func Build(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(cache, "agentry-test", "grafana-agent")
	defer lock(t, binary+".lock")()
	build := exec.Command("go", "build", "-tags", "netgo,slicelabels", "-ldflags", "-s -w", "-buildvcs=false",
		"-o", binary, "github.com/grafana/agent/cmd/grafana-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	return binary
}

// lock keeps tests of other packages from writing the binary while this one starts it: only
// the first to come writes it.
func lock(t testing.TB, name string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { file.Close() }
}
