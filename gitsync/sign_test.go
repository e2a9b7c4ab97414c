package gitsync_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/test/gittest"
)

// gpg is a key in a home of its own.
type gpg struct {
	home, fingerprint string
	public, private   string // armoured
}

// gpgHome is a short path, for sockets are in it.
func gpgHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // there may be no agent
		_ = os.RemoveAll(home)                                                // only temporary
	})
	return home
}

func runGPG(t *testing.T, home, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--no-tty", "--passphrase", "",
		"--pinentry-mode", "loopback"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gpg %v: %v\n%s; make test-deps installs it", args, err, errs.String())
	}
	return string(out)
}

// newGPG makes a key.
func newGPG(t *testing.T, algorithm string) *gpg {
	t.Helper()
	g := &gpg{home: gpgHome(t)}
	runGPG(t, g.home, "", "--quick-generate-key", "agentry <agentry@localhost>", algorithm, "sign", "never")
	g.public = runGPG(t, g.home, "", "--armor", "--export")
	g.private = runGPG(t, g.home, "", "--armor", "--export-secret-keys")
	for line := range strings.Lines(runGPG(t, g.home, "", "--with-colons", "--list-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" && g.fingerprint == "" {
			g.fingerprint = fields[9]
		}
	}
	return g
}

// newGPGOf is the environment of a gpg that knows some public keys.
func newGPGOf(t *testing.T, public string) []string {
	t.Helper()
	home := gpgHome(t)
	if public != "" {
		runGPG(t, home, public, "--import")
	}
	return []string{"GNUPGHOME=" + home}
}

func (g *gpg) signer() signer {
	return signer{config: []string{"-c", "user.signingKey=" + g.fingerprint}, env: []string{"GNUPGHOME=" + g.home}}
}

// TestSignedCommits verifies the commit with git itself, and makes it again.
func TestSignedCommits(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ssh", "ed25519", "rsa2048"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			allowed := filepath.Join(t.TempDir(), "allowed_signers")
			want, env := "", []string(nil)
			if kind == "ssh" {
				key, public := gittest.NewSSHKey(t)
				r.creds.Signing = signature.Key{Key: key}
				if err := os.WriteFile(allowed,
					append([]byte("agentry@localhost "), ssh.MarshalAuthorizedKey(public)...), 0o600); err != nil {
					t.Fatal(err)
				}
				want = `Good "git" signature for agentry@localhost`
			} else {
				g := newGPG(t, kind)
				r.creds.Signing = signature.Key{Key: []byte(g.private)}
				env, want = newGPGOf(t, g.public), `Good signature from "agentry <agentry@localhost>"`
			}
			r.input(twoTeams())
			first := r.pass()
			cmd := exec.Command("git", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", "-v", "env")
			cmd.Dir, cmd.Env = r.repo.Dir, append(gittest.Env(), env...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v: %s", err, out)
			}
			r.repo.Fsck()
			r.repo.Git("update-ref", "-d", "refs/heads/env")
			if again := r.pass(); again.Commit != first.Commit {
				t.Errorf("a replica makes %s and not %s", again.Commit, first.Commit)
			}
		})
	}
}

// TestUnusableSigningKey writes nothing rather than something unsigned.
func TestUnusableSigningKey(t *testing.T) {
	t.Parallel()
	g := newGPG(t, "ed25519")
	encrypted := encryptedGPG(t)
	for name, c := range map[string]struct {
		key        string
		passphrase string
		want       string
	}{
		"not a key": {"hunter2", "", "neither an SSH nor a PGP private key"},
		"a broken PGP key": {"-----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2\n", "",
			"read the PGP key"},
		"a public PGP key":                  {g.public, "", "public"},
		"a PGP key without its passphrase":  {encrypted, "", "passphrase"},
		"a PGP key with a wrong passphrase": {encrypted, "hunter3", "the passphrase of the PGP key is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			r.creds.Signing = signature.Key{Key: []byte(c.key), Passphrase: []byte(c.passphrase)}
			r.pipeline.Default()
			_, err := gitsync.New(r.pipeline, r.creds, r.options)
			if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a PGP key with its passphrase", func(t *testing.T) {
		t.Parallel()
		r := newGitLab(t)
		r.creds.Signing = signature.Key{Key: []byte(encrypted), Passphrase: []byte("hunter2")}
		r.input(twoTeams())
		if !strings.Contains(r.repo.Git("cat-file", "commit", r.pass().Commit), "BEGIN PGP SIGNATURE") {
			t.Error("the commit is not signed")
		}
	})
}

// encryptedGPG is a private key that hunter2 opens.
func encryptedGPG(t *testing.T) string {
	t.Helper()
	home := gpgHome(t)
	args := []string{"--passphrase", "hunter2"}
	runGPG(t, home, "", append(args, "--quick-generate-key", "agentry <agentry@localhost>", "rsa2048", "sign",
		"never")...)
	return runGPG(t, home, "", append(args, "--armor", "--export-secret-keys")...)
}
