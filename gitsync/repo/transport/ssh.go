package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// sshConfig has the settings for connections to a host.
type sshConfig struct {
	address  string      // host:port
	proxy    *url.URL    // nil without a proxy
	proxyTLS *tls.Config // for an https proxy
	client   ssh.ClientConfig
}

func newSSHConfig(at Address, auth Auth) (*sshConfig, error) {
	port := at.port
	if port == "" {
		port = "22"
	}
	address := net.JoinHostPort(at.host, port)
	signer, err := parseSSHKey(auth)
	if err != nil {
		return nil, err
	}
	hosts, err := parseKnownHosts(auth.KnownHosts)
	if err != nil {
		return nil, err
	}
	proxy, err := auth.Proxy()
	if err != nil {
		return nil, err
	}
	var proxyTLS *tls.Config
	if proxy != nil {
		if proxyTLS, err = auth.TLS(); err != nil {
			return nil, err
		}
		proxyTLS.ServerName = proxy.Hostname()
	}
	check := hosts.HostKeyCallback()
	return &sshConfig{
		address:  address,
		proxy:    proxy,
		proxyTLS: proxyTLS,
		client: ssh.ClientConfig{
			User: auth.userOr(at.user),
			Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
			HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
				return explainHostKey(host, key, check(host, remote, key))
			},
			// Without it the server may present a key of a type that known_hosts does not list, and the check
			// would fail for a trusted host (go-git issue 1551).
			HostKeyAlgorithms: hosts.HostKeyAlgorithms(address),
		},
	}, nil
}

func parseSSHKey(auth Auth) (ssh.Signer, error) {
	if len(auth.SSHKey) == 0 {
		return nil, ErrNoKey
	}
	if len(auth.SSHPassphrase) == 0 {
		signer, err := ssh.ParsePrivateKey(auth.SSHKey)
		if _, isEncrypted := errors.AsType[*ssh.PassphraseMissingError](err); isEncrypted {
			return nil, errors.New("ssh private key needs a passphrase")
		}
		if err != nil {
			return nil, errors.New("ssh private key cannot be parsed")
		}
		return signer, nil
	}
	signer, err := ssh.ParsePrivateKeyWithPassphrase(auth.SSHKey, auth.SSHPassphrase)
	if err != nil {
		return nil, errors.New("ssh private key cannot be parsed with the given passphrase")
	}
	return signer, nil
}

// parseKnownHosts parses known_hosts by way of a temporary file, because the library reads only files.
func parseKnownHosts(content []byte) (db *knownhosts.HostKeyDB, err error) {
	if len(strings.TrimSpace(string(content))) == 0 {
		return nil, errors.New("ssh needs known_hosts: host keys are always checked")
	}
	f, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(content); err != nil {
		return nil, err
	}
	db, err = knownhosts.NewDB(f.Name())
	if err != nil {
		return nil, fmt.Errorf("parse known_hosts: %s", strings.ReplaceAll(err.Error(), f.Name(), "known_hosts"))
	}
	return db, nil
}

// explainHostKey adds the host's key to an error, so that a person can compare it.
func explainHostKey(host string, key ssh.PublicKey, err error) error {
	shown := key.Type() + " " + ssh.FingerprintSHA256(key)
	switch {
	case err == nil:
		return nil
	case knownhosts.IsHostUnknown(err):
		return fmt.Errorf("%w: %s presents %s and is not in known_hosts", ErrHostKey, host, shown)
	case knownhosts.IsHostKeyChanged(err):
		return fmt.Errorf("%w: %s presents %s, but known_hosts lists another key", ErrHostKey, host, shown)
	}
	return fmt.Errorf("%w: %s presents %s: %v", ErrHostKey, host, shown, err)
}

// newSSHService runs a program on the host. golang.org/x/crypto/ssh does not support contexts, so the end of ctx
// closes the connection, which ends every read and write, even during the handshake.
func newSSHService(ctx context.Context, c *Client, program Program, stall *stallTimer) (service, error) {
	stall.enter() // until the program runs
	defer stall.leave(0)
	conn, err := c.ssh.dial(ctx)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	svc, err := startSSH(conn, c, program, stall)
	if err != nil {
		release()
		_ = conn.Close()
		return nil, err
	}
	return svc, nil
}

func startSSH(conn net.Conn, c *Client, program Program, stall *stallTimer) (service, error) {
	config := c.ssh.client
	sc, chans, reqs, err := ssh.NewClientConn(conn, c.ssh.address, &config)
	if err != nil {
		if strings.Contains(err.Error(), "unable to authenticate") {
			return nil, fmt.Errorf("%w: ssh login as %q with this key: %v", ErrAuth, config.User, err)
		}
		return nil, err
	}
	cl := ssh.NewClient(sc, chans, reqs)
	session, err := cl.NewSession()
	if err != nil {
		return nil, err
	}
	stderr := &tailBuffer{}
	session.Stderr = stderr
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := session.Start(string(program) + " " + shellQuote(c.at.path)); err != nil {
		return nil, err
	}
	stop := func() error {
		_ = session.Wait() // the exit status adds no information
		_ = cl.Close()     // the server may have closed it
		return nil
	}
	return &pipeService{in: stall.writer(in), out: bufio.NewReader(stall.reader(out)), words: stderr, stop: stop}, nil
}

// shellQuote quotes like Git: in single quotes, with ' and ! escaped outside of them.
func shellQuote(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s) + "'"
}
