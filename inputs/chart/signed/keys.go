// Package signed says whether a chart is signed with a key that is trusted: by cosign, or with a provenance file of
// Helm.
//
// It uses no network and no clock: a PGP key counts as it was when it signed, so that a pass has the same result today
// and tomorrow. Signatures are untrusted bytes.
package signed

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// Keyring has keys as they are in files. One of its fields is set.
type Keyring struct {
	Cosign []byte // public keys in PEM, as cosign writes them to cosign.pub
	PGP    []byte // public keys, armoured or as gpg --export writes them
}

// Keys are the keys that may sign a chart: each of them is enough. They do not change.
type Keys struct {
	cosign []crypto.PublicKey
	pgp    openpgp.EntityList
}

// Keys parses the keys.
func (r Keyring) Keys() (k *Keys, err error) {
	k = &Keys{}
	if len(r.Cosign) > 0 {
		k.cosign, err = parsePEM(r.Cosign)
		return k, err
	}
	k.pgp, err = parsePGP(r.PGP)
	if err == nil && len(k.pgp) == 0 {
		err = errors.New("there is no key in it: no chart could be accepted")
	}
	return k, err
}

// IsCosign reports whether the keys are those of cosign, and not of PGP.
func (k *Keys) IsCosign() bool { return len(k.cosign) > 0 }

// parsePEM reads public keys, one block after the other.
func parsePEM(text []byte) (out []crypto.PublicKey, err error) {
	const form = "PUBLIC KEY"
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != form {
			return nil, fmt.Errorf("a block is a %q and not a %s: cosign public-key prints it", block.Type, form)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("a public key cannot be read")
		}
		switch key.(type) {
		case *ecdsa.PublicKey, *rsa.PublicKey, ed25519.PublicKey:
			out = append(out, key)
		default:
			return nil, errors.New("a public key is not of ECDSA, RSA or Ed25519")
		}
	}
	if len(out) == 0 || len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("is no public key of cosign: it starts with -----BEGIN %s-----", form)
	}
	return out, nil
}

// parsePGP reads armoured keys, one block after the other, or a keyring.
func parsePGP(data []byte) (out openpgp.EntityList, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")) {
		if out, err = openpgp.ReadKeyRing(bytes.NewReader(data)); err != nil {
			err = errors.New("is no keyring: gpg --export writes one, of a pubring.kbx too")
		}
		return out, withoutPrivate(out, err)
	}
	for rest := bytes.NewReader(data); ; {
		block, err := armor.Decode(rest)
		if errors.Is(err, io.EOF) {
			return out, withoutPrivate(out, nil)
		}
		if err != nil {
			return nil, errors.New("an armoured key cannot be read")
		}
		keys, err := openpgp.ReadKeyRing(block.Body)
		if err != nil {
			return nil, fmt.Errorf("a %q is no armoured public key", block.Type)
		}
		out = append(out, keys...)
	}
}

// withoutPrivate returns an error for private keys, which nobody should give away.
func withoutPrivate(keys openpgp.EntityList, err error) error {
	for _, key := range keys {
		if key.PrivateKey != nil {
			return errors.New("holds a private key: gpg --export writes the public one")
		}
	}
	return err
}
