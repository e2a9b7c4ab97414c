package gitsync

import (
	"bytes"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// SigningKey is an SSH private key that signs commits, and what opens it, if sealed.
type SigningKey struct {
	Key        []byte
	Passphrase []byte
}

// signFunc signs the text of a commit.
type signFunc func(text []byte) (string, error)

// signer prepares to sign as git does with gpg.format=ssh; nil without a key. Ed25519 and
// RSA keys sign equal commits equally, so that replicas agree; ECDSA keys do not.
func (k SigningKey) signer() (signFunc, error) {
	if len(k.Key) == 0 {
		return nil, nil
	}
	var key ssh.Signer
	var err error
	if len(k.Passphrase) > 0 {
		key, err = ssh.ParsePrivateKeyWithPassphrase(k.Key, k.Passphrase)
	} else {
		key, err = ssh.ParsePrivateKey(k.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("output.commit.signingKey: not an SSH private key: %w", err)
	}
	return func(text []byte) (string, error) {
		signature, err := sshsig.Sign(bytes.NewReader(text), key, sshsig.HashSHA512, "git")
		if err != nil {
			return "", err
		}
		return string(sshsig.Armor(signature)), nil
	}, nil
}
