package sopsworker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"filippo.io/age/agessh"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keyservice"

	"github.com/agentry-dev/agentry/inputs/sops"
)

// keyring is a SOPS key service that decrypts the data keys of files with the keys of a request.
type keyring struct {
	age       sopsage.ParsedIdentities
	pgp       openpgp.EntityList
	unusable  []string // the problems of keys that cannot be read
	isNamed   bool     // the request has keys, so no others are used for age and PGP
	local     keyservice.Server
	vaultAddr string // the only Vault that may be asked; none if empty
}

var _ keyservice.KeyServiceServer = (*keyring)(nil)

func readKeys(keys []sops.Key) *keyring {
	r := &keyring{isNamed: len(keys) > 0, vaultAddr: os.Getenv("VAULT_ADDR")}
	for _, k := range keys {
		if err := r.add(k.Text); err != nil {
			r.unusable = append(r.unusable, k.Name+" "+err.Error())
		}
	}
	return r
}

// add adds a key, whose kind it recognizes by the text. The error does not quote it.
func (r *keyring) add(text []byte) error {
	switch {
	case bytes.Contains(text, []byte("-----BEGIN PGP")):
		entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
		isPrivate := func(e *openpgp.Entity) bool { return e.PrivateKey != nil }
		if err != nil || !slices.ContainsFunc(entities, isPrivate) {
			return errors.New("holds no armoured private PGP key")
		}
		r.pgp = append(r.pgp, entities...)
	case bytes.Contains(text, []byte("-----BEGIN")):
		identity, err := agessh.ParseIdentity(text)
		if err != nil {
			return errors.New("holds no private SSH key without a passphrase")
		}
		r.age = append(r.age, identity)
	default:
		var identities sopsage.ParsedIdentities
		if err := identities.Import(string(text)); err != nil || len(identities) == 0 {
			return errors.New("holds no identity of age, no SSH key and no PGP key")
		}
		r.age = append(r.age, identities...)
	}
	return nil
}

// errNoKey means that none of the request's keys can decrypt.
var errNoKey = errors.New("no key matches")

// Decrypt implements [keyservice.KeyServiceServer].
func (r *keyring) Decrypt(ctx context.Context, q *keyservice.DecryptRequest) (*keyservice.DecryptResponse, error) {
	switch k := q.Key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		if !r.isNamed {
			break
		}
		if len(r.age) == 0 {
			return nil, errNoKey
		}
		key := sopsage.MasterKey{Recipient: k.AgeKey.Recipient, EncryptedKey: string(q.Ciphertext)}
		r.age.ApplyToMasterKey(&key)
		data, err := key.Decrypt()
		return &keyservice.DecryptResponse{Plaintext: data}, err
	case *keyservice.Key_PgpKey:
		if !r.isNamed {
			break
		}
		data, err := r.decryptPGP(q.Ciphertext)
		return &keyservice.DecryptResponse{Plaintext: data}, err
	case *keyservice.Key_VaultKey:
		if sameAddress(k.VaultKey.VaultAddress, r.vaultAddr) {
			break
		}
		return nil, errOtherVault()
	}
	return r.local.Decrypt(ctx, q)
}

// Encrypt implements [keyservice.KeyServiceServer].
func (r *keyring) Encrypt(ctx context.Context, q *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	if k, ok := q.Key.KeyType.(*keyservice.Key_VaultKey); ok && !sameAddress(k.VaultKey.VaultAddress, r.vaultAddr) {
		return nil, errOtherVault()
	}
	return r.local.Encrypt(ctx, q)
}

func (r *keyring) decryptPGP(text []byte) ([]byte, error) {
	block, err := pgparmor.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	message, err := openpgp.ReadMessage(block.Body, r.pgp, nil, nil)
	if err != nil {
		return nil, errNoKey
	}
	return io.ReadAll(io.LimitReader(message.UnverifiedBody, 1<<10))
}

func errOtherVault() error {
	return errors.New("VAULT_ADDR is another address, and the token belongs to it")
}

func sameAddress(a, b string) bool {
	return b != "" && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// keyName describes a key for which a file is encrypted, without secrets.
func keyName(key *keyservice.Key) string {
	switch k := key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		return "age " + k.AgeKey.Recipient
	case *keyservice.Key_PgpKey:
		return "PGP " + k.PgpKey.Fingerprint
	case *keyservice.Key_KmsKey:
		return "AWS KMS " + k.KmsKey.Arn
	case *keyservice.Key_GcpKmsKey:
		return "GCP KMS " + k.GcpKmsKey.ResourceId
	case *keyservice.Key_AzureKeyvaultKey:
		return fmt.Sprintf("Azure Key Vault %s/%s", k.AzureKeyvaultKey.VaultUrl, k.AzureKeyvaultKey.Name)
	case *keyservice.Key_VaultKey:
		return fmt.Sprintf("Vault %s/%s/%s", k.VaultKey.VaultAddress, k.VaultKey.EnginePath, k.VaultKey.KeyName)
	}
	return "a key of another kind"
}
