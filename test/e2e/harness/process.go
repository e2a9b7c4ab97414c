package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Process is a program that runs, with its log in a file.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
}

func launch(dir, name, path string, args ...string) (*Process, error) {
	return begin(dir, name, exec.Command(path, args...), (*exec.Cmd).Start)
}

// begin starts a command, in its way.
func begin(dir, name string, cmd *exec.Cmd, start func(*exec.Cmd) error) (*Process, error) {
	p := &Process{name: name, log: filepath.Join(dir, name+".log"), cmd: cmd, exited: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := start(p.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // The reason is in the log.
		close(p.exited)
	}()
	return p, nil
}

// Launch runs a program until the test ends. If that fails, the end of the log is shown.
func (c *Cluster) Launch(t *testing.T, name string, tool Tool, args ...string) *Process {
	t.Helper()
	dir := filepath.Join(c.dir, strings.ReplaceAll(t.Name(), "/", "_"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := launch(dir, name, tool.Path(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s says, at the end:\n%s", name, p.tail())
		}
	})
	return p
}

// Kill ends it the hard way.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Stop asks it to end, and returns its exit code.
func (p *Process) Stop() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.exited
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends it a signal, such as those that stop it for a while and let it go on.
func (p *Process) Signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// alive is an error once the process ended.
func (p *Process) alive() error {
	if p.Runs() {
		return nil
	}
	return fmt.Errorf("%s exited: %s\n%s", p.name, p.cmd.ProcessState, p.tail())
}

// Runs tells whether it has not ended yet.
func (p *Process) Runs() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Log is what it said so far.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// tail is the end of the log, of servers that are not agentry's only the errors, but for those after
// which controllers try again.
func (p *Process) tail() string {
	const lines = 10
	chatter := regexp.MustCompile(
		`(?m)^([IW]\d{4} |{"level":"(info|warn)"|{.*"level":"info"|time="[^"]*" level=info |ts=.* level=(debug|info) |E\d{4} .*("Failed to watch"|requeuing|is not as new as written)).*\n`)
	text := chatter.ReplaceAll([]byte(p.Log()), nil)
	all := bytes.SplitAfter(text, []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines-1):], nil))
}
