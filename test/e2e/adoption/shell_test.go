package adoption

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// shell runs commands in a folder, with agentry, and with kubectl as the administrator.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

func newShell(t *testing.T, dir string) *shell {
	t.Helper()
	tools, err := filepath.Abs(filepath.Dir(harness.Kubectl().Path()))
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+cluster.AdminKubeconfig(t), "HOME="+t.TempDir(), "LC_ALL=C.UTF-8", "TZ=UTC")
	return &shell{t: t, dir: dir, env: env}
}

// run runs a command, and returns what it prints, what it complains of, and its exit code.
func (s *shell) run(command string) (out, complaints string, code int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	var errs strings.Builder
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	return string(printed), errs.String(), code
}

// must is what a command prints that goes well.
func (s *shell) must(command string) string {
	s.t.Helper()
	out, complaints, code := s.run(command)
	if code != 0 {
		s.t.Fatalf("%s: exit code %d\n%s%s", command, code, out, complaints)
	}
	return out
}
