package alive

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take. The agent sends nothing in its first 15 s, and
// asks for targets every 30 s; the sd-aggregator believes DNS that a pod is gone after 20 s.
const patience = 2 * time.Minute

// process is a server on loopback, whose readiness is answered at /-/ready.
type process struct {
	name    string
	address string
	log     string // a file
	cmd     *exec.Cmd
	exited  chan struct{}
}

// start starts a server that listens at the addresses that command is given, of which
// the first is for HTTP, and waits until it is ready. The server ends with the test.
func start(t *testing.T, name string, command func(addresses []string) *exec.Cmd) *process {
	t.Helper()
	for isFirst := true; ; isFirst = false {
		addresses := freeAddresses(t)
		p := launch(t, name, addresses[0], command(addresses))
		err := p.ready()
		if err == nil {
			return p
		}
		if !p.taken(t) && !(isFirst && p.late(t)) {
			t.Fatalf("start %s: %v", name, err)
		}
	}
}

// launch runs a command until the test ends. Its log is shown if the test fails.
func launch(t *testing.T, name, address string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{name: name, address: address, log: filepath.Join(t.TempDir(), "log"), cmd: cmd,
		exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait() // the reason is in the log
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s says:\n%s", name, p.said(t))
		}
	})
	return p
}

// kill leaves nothing behind: neither the process nor children of it.
func (p *process) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

func (p *process) said(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var errExited = errors.New("it exited")

// ready waits for a ready process. Another one at its address is not taken for it.
func (p *process) ready() error {
	return within(patience, func() error {
		err := get("http://"+p.address+"/-/ready", nil)
		select {
		case <-p.exited:
			return errExited
		default:
			return err
		}
	}, errExited)
}

// late tells whether the process is an agent that ended because one of its instances was not there when an integration
// asked for it. With the instance first, that happens only on a machine that has much else to do, and a pod starts
// again.
func (p *process) late(t *testing.T) bool {
	t.Helper()
	return bytes.Contains(p.said(t), []byte("configuring autoscraper failed"))
}

// taken tells whether the process found somebody else at one of its addresses, which can
// happen to an address that was free a moment ago.
func (p *process) taken(t *testing.T) bool {
	t.Helper()
	return bytes.Contains(p.said(t), []byte("address already in use"))
}

func freeAddresses(t *testing.T) []string {
	t.Helper()
	addresses := make([]string, 2)
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses[i] = l.Addr().String()
	}
	return addresses
}

func port(address string) string {
	return address[strings.LastIndex(address, ":")+1:]
}

// within repeats a probe until it succeeds, or returns what it says in the end. An error
// that is final ends it at once.
func within(limit time.Duration, probe func() error, final error) error {
	deadline := time.Now().Add(limit)
	for {
		err := probe()
		if err == nil || errors.Is(err, final) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// eventually fails the test if a probe does not succeed in time.
func eventually(t *testing.T, what string, probe func() error) {
	t.Helper()
	if err := within(patience, probe, errExited); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// client is for servers that answer at once or never.
func client() *http.Client { return &http.Client{Timeout: 10 * time.Second} }
