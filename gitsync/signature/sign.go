package signature

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Key is a private key for signing commits: an SSH key or an armoured PGP key, with its passphrase if it needs one.
type Key struct {
	Key        []byte
	Passphrase []byte
}

// Func signs a commit, given as text, and returns the armoured signature.
type Func func(text []byte) (string, error)

// Signer returns a function that signs like git, or nil if there is no key.
func (k Key) Signer() (Func, error) {
	if len(k.Key) == 0 {
		return nil, nil
	}
	parse := k.ssh
	if bytes.Contains(k.Key, []byte("-----BEGIN PGP ")) {
		parse = k.pgp
	}
	sign, err := parse()
	if err == nil {
		_, err = sign([]byte("committer agentry <agentry@localhost> 0 +0000\n\nTry the key\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("output.commit.signingKey: %w", err)
	}
	return sign, nil
}

// ssh returns a function that signs like git with gpg.format=ssh.
func (k Key) ssh() (Func, error) {
	var key ssh.Signer
	var err error
	if len(k.Passphrase) > 0 {
		key, err = ssh.ParsePrivateKeyWithPassphrase(k.Key, k.Passphrase)
	} else {
		key, err = ssh.ParsePrivateKey(k.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("neither an SSH nor a PGP private key: %w", err)
	}
	return func(text []byte) (string, error) {
		signature, err := sshsig.Sign(bytes.NewReader(text), key, sshsig.HashSHA512, "git")
		if err != nil {
			return "", err
		}
		return string(sshsig.Armor(signature)), nil
	}, nil
}

// committerDate returns the committer's date in the text of a commit.
func committerDate(text []byte) (time.Time, error) {
	header, _, _ := bytes.Cut(text, []byte("\n\n"))
	for line := range strings.Lines(string(header)) {
		rest, ok := strings.CutPrefix(line, "committer ")
		if !ok {
			continue
		}
		_, rest, _ = strings.Cut(rest, "> ")
		digits, _, _ := strings.Cut(rest, " ")
		seconds, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil {
			return time.Time{}, errors.New("commit date is not a number")
		}
		return committext.SafeDate(time.Unix(seconds, 0)), nil
	}
	return time.Time{}, errors.New("the commit has no committer")
}
