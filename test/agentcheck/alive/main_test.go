package alive

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	if err := replaceHosts(filepath.Join(os.Getenv(folder), "hosts")); err != nil {
		fmt.Fprintln(os.Stderr, "replace /etc/hosts:", err)
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
	code, err := again(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own:", err)
		return 1
	}
	return code
}

// again runs these tests once more, in namespaces of their own, and returns the exit code.
func again(dir string) (int, error) {
	tests, err := os.Executable()
	if err != nil {
		return 0, err
	}
	again := exec.Command(filepath.Join(dir, "isolated"),
		append([]string{"-network", "-mounts", tests}, os.Args[1:]...)...)
	again.Env = append(os.Environ(), folder+"="+dir)
	again.Stdout, again.Stderr, again.SysProcAttr = os.Stdout, os.Stderr, attributes()
	runtime.LockOSThread() // attributes ends the program when this thread ends.
	err = again.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil // A signal has none.
	}
	return 0, err
}

func build(dir string) error {
	agent, err := agentbinary.Path()
	if err != nil {
		return err
	}
	if err := os.Symlink(agent, filepath.Join(dir, "grafana-agent")); err != nil {
		return err
	}
	ours := exec.Command("go", "build", "-o", dir, "./cmd/agentry", "./cmd/sd-aggregator", "./test/isolate/isolated")
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
