// Package signed verifies that a chart is signed with a trusted key, by cosign or with a Helm provenance file.
//
// It uses neither network nor clock: the validity of a PGP key is checked at the time of the signature, so that a pass
// has the same result today and tomorrow. Signatures are untrusted input.
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

// Keyring has the text of key files. One of its fields is set.
type Keyring struct {
	Cosign []byte // public keys in PEM, as in cosign.pub
	PGP    []byte // public keys, armoured or as written by gpg --export
}

// Keys are the keys of which one must have signed a chart. They are immutable.
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
		err = errors.New("it contains no key, so no chart could be accepted")
	}
	return k, err
}

// IsCosign reports whether the keys are for cosign rather than PGP.
func (k *Keys) IsCosign() bool { return len(k.cosign) > 0 }

// parsePEM parses a sequence of public keys.
func parsePEM(text []byte) (out []crypto.PublicKey, err error) {
	const form = "PUBLIC KEY"
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != form {
			return nil, fmt.Errorf("a block is a %q, not a %s: cosign public-key prints one", block.Type, form)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("a public key cannot be read")
		}
		switch key.(type) {
		case *ecdsa.PublicKey, *rsa.PublicKey, ed25519.PublicKey:
			out = append(out, key)
		default:
			return nil, errors.New("a public key is not ECDSA, RSA or Ed25519")
		}
	}
	if len(out) == 0 || len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("is not a cosign public key, which starts with -----BEGIN %s-----", form)
	}
	return out, nil
}

// parsePGP parses a sequence of armoured keys, or a keyring.
func parsePGP(data []byte) (out openpgp.EntityList, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")) {
		if out, err = openpgp.ReadKeyRing(bytes.NewReader(data)); err != nil {
			err = errors.New("is not a keyring: gpg --export writes one, also from a pubring.kbx")
		}
		return out, refusePrivate(out, err)
	}
	for rest := bytes.NewReader(data); ; {
		block, err := armor.Decode(rest)
		if errors.Is(err, io.EOF) {
			return out, refusePrivate(out, nil)
		}
		if err != nil {
			return nil, errors.New("an armoured key cannot be read")
		}
		keys, err := openpgp.ReadKeyRing(block.Body)
		if err != nil {
			return nil, fmt.Errorf("a %q is not an armoured public key", block.Type)
		}
		out = append(out, keys...)
	}
}

// refusePrivate returns an error if one of the keys is private.
func refusePrivate(keys openpgp.EntityList, err error) error {
	for _, key := range keys {
		if key.PrivateKey != nil {
			return errors.New("holds a private key: gpg --export writes the public one")
		}
	}
	return err
}
