package gitsync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/gittest"
)

// TestSignedCommits verifies branch and note with git itself.
func TestSignedCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key, public := gittest.NewSSHKey(t)
	r.creds.Signing = gitsync.SigningKey{Key: key}
	allowed := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(allowed, append([]byte("agentry@localhost "), ssh.MarshalAuthorizedKey(public)...), 0o600); err != nil {
		t.Fatal(err)
	}
	r.commit("one", twoTeams())
	first := r.pass()
	for _, ref := range []string{"env", "refs/notes/hydrator.metadata"} {
		out := r.out("-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", "-v", ref)
		if !strings.Contains(out, `Good "git" signature for agentry@localhost`) {
			t.Errorf("%s: %s", ref, out)
		}
	}
	r.out("fsck", "--strict")
	r.out("update-ref", "-d", "refs/heads/env")
	if again := r.pass(); again.Commit != first.Commit {
		t.Errorf("a replica makes %s and not %s", again.Commit, first.Commit)
	}
}

// TestUnusableSigningKey writes nothing rather than something unsigned.
func TestUnusableSigningKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.creds.Signing = gitsync.SigningKey{Key: []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2\n")}
	r.pipeline.Default()
	_, err := gitsync.New(r.pipeline, r.creds, r.options)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
