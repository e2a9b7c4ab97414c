package cli

import (
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// TestCheckReadsNoFileBeyondTheLimit: a sparse file costs its author nothing.
func TestCheckReadsNoFileBeyondTheLimit(t *testing.T) {
	const size, most = 256 << 20, 64 << 20
	t.Chdir(t.TempDir())
	if err := os.WriteFile("big.yaml", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("big.yaml", size); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code := Run(t.Context(), []string{"agentry", "check", "."},
		Env{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: os.LookupEnv})
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; code != command.ExitFindings || allocated > most {
		t.Errorf("exit code %d, %d bytes allocated", code, allocated)
	}
}
