package signature

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Keyring has the public keys of pipeline.Verify. A commit signed with one of them is accepted, as by `git
// verify-commit`. Whether a key has expired depends on the committer's date, not on the clock, so that a pass has the
// same result today and tomorrow.
type Keyring struct {
	AllowedSigners []byte // in OpenSSH's allowed_signers format
	PGPKeys        []byte // armoured, one after the other
}

// IsZero reports whether there are no keys. If so, any commit is accepted.
func (k Keyring) IsZero() bool { return len(k.AllowedSigners)+len(k.PGPKeys) == 0 }

// Verifier accepts commits that are signed with one of its keys.
type Verifier struct {
	signers []allowedSigner
	pgp     openpgp.EntityList
}

// Verifier parses the keys. It returns nil if there are none.
func (k Keyring) Verifier() (*Verifier, error) {
	if k.IsZero() {
		return nil, nil
	}
	v := &Verifier{}
	var err error
	if v.signers, err = parseAllowedSigners(k.AllowedSigners); err != nil {
		return nil, fmt.Errorf("allowedSigners: %w", err)
	}
	if v.pgp, err = parsePGPKeys(k.PGPKeys); err != nil {
		return nil, fmt.Errorf("pgpKeys: %w", err)
	}
	if len(v.signers)+len(v.pgp) == 0 {
		return nil, errors.New("contains no key, so no commit could be accepted")
	}
	return v, nil
}

const pgpPublicKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// parsePGPKeys reads armoured keys, one block after the other.
func parsePGPKeys(data []byte) (openpgp.EntityList, error) {
	if bytes.Contains(data, []byte("-----BEGIN PGP PRIVATE KEY")) {
		return nil, errors.New("contains a private key: gpg --armor --export prints the public key")
	}
	var out openpgp.EntityList
	blocks := strings.Split(string(data), pgpPublicKey)
	for i, block := range blocks[1:] {
		keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(pgpPublicKey + block))
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i+1, err)
		}
		out = append(out, keys...)
	}
	if len(out) == 0 && len(bytes.TrimSpace(data)) > 0 {
		return nil, fmt.Errorf("contains no armoured key, which would start with %q", pgpPublicKey)
	}
	return out, nil
}

// Refused is the error for an unsigned or untrusted commit.
type Refused struct {
	Code       diag.Code // commit-unsigned or commit-untrusted
	text, Hint string
}

// Error names the commit and the reason.
func (e *Refused) Error() string { return e.text }

// Accept checks the signature of a commit. If it does not accept the commit, the error is a [*Refused].
func (v *Verifier) Accept(r *repo.Repo, h plumbing.Hash) error {
	rd := r.Reader()
	defer rd.Close()
	text, signatures, err := rd.Signed(h)
	if err != nil {
		return err
	}
	if len(signatures) == 0 {
		return &Refused{
			Code: diag.CommitUnsigned, text: fmt.Sprintf(
				"commit %s of %s is not signed, but only signed commits are accepted", h, r.URL()),
			Hint: "sign it (git commit -S), or add a signed commit on top of it",
		}
	}
	if len(signatures) == 1 {
		err = v.check(text, signatures[0])
	} else {
		err = fmt.Errorf("the commit has %d signatures", len(signatures))
	}
	if err == nil {
		return nil
	}
	return &Refused{
		Code: diag.CommitUntrusted, text: fmt.Sprintf("the signature of commit %s of %s is not accepted: %v", h,
			r.URL(), err),
		Hint: "if you trust that key, add it to sources[].verify; otherwise add a commit by a trusted signer on top",
	}
}

// check verifies the signature of a commit's text. Its errors name the key.
func (v *Verifier) check(text, signature []byte) error {
	date, err := committerDate(text)
	if err != nil {
		return err
	}
	if len(signature) > maxSignatureBytes {
		return fmt.Errorf("it has more than %d bytes", maxSignatureBytes)
	}
	switch {
	case bytes.HasPrefix(signature, []byte("-----BEGIN SSH SIGNATURE")):
		return v.checkSSH(text, signature, date)
	case bytes.HasPrefix(signature, []byte("-----BEGIN PGP ")):
		return v.checkPGP(text, signature, date)
	}
	return errors.New("it is neither an SSH nor a PGP signature")
}

func (v *Verifier) checkPGP(text, signature []byte, date time.Time) error {
	if len(v.pgp) == 0 {
		return errors.New("it is a PGP signature, but no PGP key is trusted")
	}
	if err := checkPGP(v.pgp, text, signature, date); err != nil {
		return fmt.Errorf("PGP key %s: %w", pgpIssuer(signature), err)
	}
	return nil
}

func (v *Verifier) checkSSH(text, signature []byte, date time.Time) error {
	if len(v.signers) == 0 {
		return errors.New("it is an SSH signature, but no SSH key is trusted")
	}
	sig, err := sshsig.Unarmor(signature)
	if err != nil {
		return err
	}
	key := ssh.FingerprintSHA256(sig.PublicKey)
	if format := sig.Signature.Format; format == "ssh-rsa" || format == "ssh-dss" {
		return fmt.Errorf("SSH key %s signed with SHA-1, which is broken", key)
	}
	if err := sshsig.Verify(bytes.NewReader(text), sig, sig.PublicKey, sig.HashAlgorithm, sshNamespace); err != nil {
		return fmt.Errorf("SSH key %s: %w", key, err)
	}
	reason := errors.New("is not among the allowed signers")
	for i := range v.signers {
		err := v.signers[i].allows(sig.PublicKey, date)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errOtherKey) {
			reason = err
		}
	}
	return fmt.Errorf("SSH key %s %w", key, reason)
}
