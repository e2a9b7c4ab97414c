package signature

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// pgp returns a function that signs like git with gpg.
func (k Key) pgp() (Func, error) {
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(k.Key))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the PGP key: %w", err)
	case len(keys) != 1:
		return nil, fmt.Errorf("there must be one PGP key, not %d", len(keys))
	case keys[0].PrivateKey == nil:
		return nil, errors.New("the PGP key is public: gpg --armor --export-secret-keys prints the private key")
	}
	key := keys[0]
	if needsPassphrase(key) {
		if len(k.Passphrase) == 0 {
			return nil, errors.New("the PGP key needs a passphrase: name its file in signingKeyPassphraseFile")
		}
		if err := key.DecryptPrivateKeys(k.Passphrase); err != nil {
			return nil, errors.New("the passphrase of the PGP key is wrong")
		}
	}
	from := usableFrom(key)
	return func(text []byte) (string, error) {
		date, err := committerDate(text)
		if err != nil {
			return "", err
		}
		if date.Before(from) {
			date = from // gpg rejects a signature older than its key
		}
		return signPGP(key, text, date)
	}, nil
}

// needsPassphrase reports whether a key needs a passphrase.
func needsPassphrase(key *openpgp.Entity) bool {
	isEncrypted := func(k *packet.PrivateKey) bool { return k != nil && !k.Dummy() && k.Encrypted }
	for _, sub := range key.Subkeys {
		if isEncrypted(sub.PrivateKey) {
			return true
		}
	}
	return isEncrypted(key.PrivateKey)
}

// usableFrom returns the creation time of the newest part of a key.
func usableFrom(key *openpgp.Entity) time.Time {
	from := key.PrimaryKey.CreationTime
	later := func(t time.Time) {
		if t.After(from) {
			from = t
		}
	}
	if self, _ := key.PrimarySelfSignature(); self != nil {
		later(self.CreationTime)
	}
	for _, sub := range key.Subkeys {
		later(sub.PublicKey.CreationTime)
		later(sub.Sig.CreationTime)
	}
	return from
}

// signPGP makes a signature that depends only on key, text and date, and verifies it, because the library ignores some
// failures.
func signPGP(key *openpgp.Entity, text []byte, date time.Time) (string, error) {
	config := &packet.Config{
		DefaultHash: crypto.SHA512, NonDeterministicSignaturesViaNotation: new(false),
		Time: func() time.Time { return date },
	}
	if _, ok := key.SigningKey(date); !ok {
		return "", fmt.Errorf(
			"the PGP key %X has no subkey that may sign on %s: all are expired, revoked or for another use",
			key.PrimaryKey.Fingerprint, date.UTC().Format(time.DateOnly))
	}
	var b strings.Builder
	if err := openpgp.ArmoredDetachSign(&b, key, bytes.NewReader(text), config); err != nil {
		return "", fmt.Errorf("sign with the PGP key %X: %w", key.PrimaryKey.Fingerprint, err)
	}
	if err := checkPGP(openpgp.EntityList{key}, text, []byte(b.String()), date); err != nil {
		return "", fmt.Errorf("the PGP key %X made a bad signature: %w", key.PrimaryKey.Fingerprint, err)
	}
	return b.String(), nil
}

// checkPGP verifies a signature at a date. It must be a binary signature with a secure hash.
func checkPGP(keys openpgp.EntityList, text, signature []byte, date time.Time) error {
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return err
	}
	if block.Type != openpgp.SignatureType {
		return fmt.Errorf("%q is not a PGP signature", block.Type)
	}
	raw, err := io.ReadAll(io.LimitReader(block.Body, maxSignatureBytes))
	if err != nil {
		return err
	}
	first, err := packet.Read(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if s, ok := first.(*packet.Signature); ok && s.CreationTime.After(date) {
		date = s.CreationTime // gpg may have waited for a passphrase after git set the date
	}
	hashes := []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512}
	config := &packet.Config{Time: func() time.Time { return date }}
	_, err = openpgp.CheckDetachedSignatureAndHash(keys, bytes.NewReader(text), bytes.NewReader(raw), hashes, config)
	return err
}

// maxSignatureBytes limits the size of a signature.
const maxSignatureBytes = 64 << 10

// pgpIssuer returns the ID of the key that a signature names.
func pgpIssuer(signature []byte) string {
	const unknown = "unknown"
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return unknown
	}
	first, err := packet.Read(io.LimitReader(block.Body, maxSignatureBytes))
	if err != nil {
		return unknown
	}
	s, ok := first.(*packet.Signature)
	switch {
	case !ok:
		return unknown
	case len(s.IssuerFingerprint) > 0:
		return fmt.Sprintf("%X", s.IssuerFingerprint)
	case s.IssuerKeyId != nil:
		return fmt.Sprintf("%016X", *s.IssuerKeyId)
	}
	return unknown
}
