package harness

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Shell runs commands in a folder as a user does who has nothing set up but the tools of the suite
// on the path, and an administrator's kubeconfig at the usual place.
type Shell struct {
	// Dir is where commands run.
	Dir string
	// Env is added to the environment.
	Env   []string
	t     *testing.T
	state string // a script that makes a shell go on where the last one ended
}

// NewShell makes a shell. The user's home is a new folder.
func (c *Cluster) NewShell(t *testing.T, dir string) *Shell {
	t.Helper()
	tools, err := filepath.Abs(cache())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	config, err := os.ReadFile(c.AdminKubeconfig(t))
	if err == nil {
		err = os.Mkdir(filepath.Join(home, ".kube"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".kube", "config"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Shell{t: t, Dir: dir, state: filepath.Join(home, ".session"),
		Env: []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "HOME=" + home,
			"KUBECONFIG=" + filepath.Join(home, ".kube", "config"), "LC_ALL=C.UTF-8", "TZ=UTC"}}
}

// Background is a command that runs.
type Background struct {
	// Log is the file of what it says.
	Log string
	// Exited is closed when it has ended.
	Exited chan struct{}
	// Stop kills it, with all that it started.
	Stop func()
}

// Start starts a command where those that were typed before ended. It is stopped at the end of the
// test at the latest.
func (s *Shell) Start(command string) *Background {
	s.t.Helper()
	file, err := os.CreateTemp(s.t.TempDir(), "log")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", s.before()+command)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	b := &Background{Log: file.Name(), Exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // It was killed, or the log has the reason.
		_ = file.Close()
		close(b.Exited)
	}()
	b.Stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-b.Exited
	}
	s.t.Cleanup(b.Stop)
	return b
}

// Run runs a command, and returns what it prints, what it complains of, and its exit code.
func (s *Shell) Run(command string) (out, complaints string, code int) {
	s.t.Helper()
	// Who hangs is named, before go test gives up on everybody.
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
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

// Type runs commands where those that were typed before ended: in their folder, with what they
// exported. Each must go well, or the rest is not run.
func (s *Shell) Type(commands string) (out, complaints string, code int) {
	s.t.Helper()
	return s.Run(s.before() + commands + "\n{ echo \"cd '$PWD'\"; export -p; } >'" + s.state + "'\n")
}

// before makes one session of many shells.
func (s *Shell) before() string { return "[ ! -e '" + s.state + "' ] || . '" + s.state + "'\nset -e\n" }

// Must is what a command prints that goes well.
func (s *Shell) Must(command string) string {
	s.t.Helper()
	out, complaints, code := s.Run(command)
	if code != 0 {
		s.t.Fatalf("%s: exit code %d\n%s%s", command, code, out, complaints)
	}
	return out
}

// Cached is a folder that is still there, with what is in it, when the suite runs the next time in
// this checkout.
func Cached(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs(Root())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache(), fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(root)))[:len(name)+9])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
