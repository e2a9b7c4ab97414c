package worker

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestALimitOfTheShellIsNamed: a worker that the kernel ends for its processor time does not lack memory.
func TestALimitOfTheShellIsNamed(t *testing.T) {
	const inner = "AGENTRY_TEST_LIMITED"
	if os.Getenv(inner) != "" {
		p := NewPool(Options{Command: []string{"/bin/sh", "-c", "while :; do :; done"}})
		defer p.Close()
		_, err := p.Ask(t.Context(), Question{})
		fmt.Println("error:", err)
		return
	}
	limited := exec.Command("/bin/sh", "-c", `ulimit -t 1; exec "$0" -test.run='^TestALimitOfTheShellIsNamed$'`,
		os.Args[0])
	limited.Env = append(os.Environ(), inner+"=yes")
	out, err := limited.CombinedOutput()
	const want = "error: takes more than the 1s of processor time that ulimit -t allows\n"
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %v\n%s", err, out)
	}
}
