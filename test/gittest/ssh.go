package gittest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshdStart is the time that an sshd has to start listening.
const sshdStart = 10 * time.Second

// SSHServer is an OpenSSH server that accepts the current user with one key.
type SSHServer struct {
	Address    string // host:port
	User       string
	Key        []byte // the accepted private key, PEM
	KnownHosts []byte
}

// NewSSH starts an sshd, which make test-deps installs.
func NewSSH(t testing.TB) *SSHServer {
	t.Helper()
	const sshd = "/usr/sbin/sshd" // re-executes itself, so it must be a full path
	if _, err := os.Stat(sshd); err != nil {
		t.Fatal("there is no /usr/sbin/sshd: run make test-deps")
	}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hostKey, hostPublic := NewSSHKey(t)
	key, public := NewSSHKey(t)
	s := &SSHServer{Address: freeAddress(t), User: who.Username, Key: key}
	s.KnownHosts = []byte(knownhosts.Line([]string{s.Address}, hostPublic) + "\n")
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "host_key"), hostKey)
	write(t, filepath.Join(dir, "authorized_keys"), ssh.MarshalAuthorizedKey(public))
	write(t, filepath.Join(dir, "sshd_config"), fmt.Appendf(nil, `
ListenAddress %s:%s
HostKey %s/host_key
AuthorizedKeysFile %s/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PermitUserEnvironment no
`, host, port, dir, dir))
	s.run(t, exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config")))
	return s
}

// run starts sshd, waits until it listens and ends it with the test.
func (s *SSHServer) run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() == 0 {
		// sshd needs this empty directory, which a service manager usually makes.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatalf("make /run/sshd: %v", err)
		}
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only if it has ended
		<-exited
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	for deadline := time.Now().Add(sshdStart); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.Address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("sshd ended: %v: %s", err, log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not listen: %v", err)
		}
	}
}

// URL returns the ssh URL of a repository on this machine.
func (s *SSHServer) URL(r *Repo) string {
	return "ssh://" + s.User + "@" + s.Address + r.Dir
}

// NewSSHKey makes a key pair; the private key is PEM.
func NewSSHKey(t testing.TB) (private []byte, public ssh.PublicKey) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "")
	if err != nil {
		t.Fatal(err)
	}
	public, err = ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), public
}

// NewSilent returns the address of a server that accepts connections but never sends anything.
func NewSilent(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return l.Addr().String()
}

// freeAddress finds an unused port.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
