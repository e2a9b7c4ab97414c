package alive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentry-dev/agentry/test/agentcheck/agentbinary"
)

// folder names the environment variable that is set where the tests run: it has the folder with
// the binaries, and with the file of names that stands for DNS.
const folder = "AGENTRY_ALIVE_FOLDER"

// TestMain builds what the tests start, and runs them where each address of 10.0.0.0/8 is this
// host and nothing else can be reached: the sd-aggregator does not take loopback addresses for
// those of pods.
func TestMain(m *testing.M) {
	if os.Getenv(folder) == "" {
		os.Exit(prepare())
	}
	if err := isolate(filepath.Join(os.Getenv(folder), "hosts")); err != nil {
		fmt.Fprintln(os.Stderr, "the tests need user, network and mount namespaces:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// prepare runs the tests once everything is there for them, and returns the exit code.
func prepare() int {
	dir, err := os.MkdirTemp("", "alive")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "hosts"), []byte(localhost), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return runIsolated(append(os.Environ(), folder+"="+dir))
}

func build(dir string) error {
	agent, err := agentbinary.Path()
	if err != nil {
		return err
	}
	if err := os.Symlink(agent, filepath.Join(dir, "grafana-agent")); err != nil {
		return err
	}
	ours := exec.Command("go", "build", "-o", dir, "./cmd/agentry", "./cmd/sd-aggregator")
	ours.Dir = "../../.."
	if out, err := ours.CombinedOutput(); err != nil {
		return fmt.Errorf("build agentry: %w\n%s", err, out)
	}
	return nil
}

// built is the path of a binary.
func built(name string) string { return filepath.Join(os.Getenv(folder), name) }

const localhost = "127.0.0.1 localhost\n"

// resolve gives a name these addresses, and takes those away that any name had before.
func resolve(t *testing.T, name string, ips ...string) {
	t.Helper()
	text := localhost
	for _, ip := range ips {
		text += ip + " " + name + "\n"
	}
	if err := os.WriteFile(filepath.Join(os.Getenv(folder), "hosts"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
