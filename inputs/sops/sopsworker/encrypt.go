package sopsworker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	getsops "github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/azkv"
	"github.com/getsops/sops/v3/gcpkms"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/kms"
	"github.com/getsops/sops/v3/pgp"

	"github.com/agentry-dev/agentry/inputs/sops"
)

// encryptedFields are the fields of a Secret that hold its values.
const encryptedFields = "^(data|stringData)$"

// libraryVersion is the version of SOPS's library, which is written to files. SOPS's own constant is in a package that
// links a second command-line library.
const libraryVersion = "3.13.3"

// encrypt encrypts the values of a Secret. The MAC covers only the values, so that people without the key can add
// labels.
func (r *keyring) encrypt(to sops.Recipients, text []byte) sops.Encrypted {
	failed := func(format string, args ...any) sops.Encrypted {
		return sops.Encrypted{Reason: fmt.Sprintf(format, args...)}
	}
	group, err := groupOf(to)
	if err != nil {
		return failed("%v", err)
	}
	store := storeOf(sops.YAML)
	branches, err := store.LoadPlainFile(text)
	if err != nil || len(branches) != 1 {
		return failed("it is not one document of YAML")
	}
	tree := getsops.Tree{Branches: branches, Metadata: getsops.Metadata{
		KeyGroups: []getsops.KeyGroup{group}, EncryptedRegex: encryptedFields, MACOnlyEncrypted: true,
		Version: libraryVersion, LastModified: time.Now().UTC(),
	}}
	encryptRecorder := &encryptRecorder{keyring: r}
	key, errs := tree.GenerateDataKeyWithKeyServices(
		[]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(encryptRecorder)})
	if len(errs) > 0 {
		return failed("%s", encryptRecorder.reason())
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		return failed("a value of it cannot be encrypted")
	}
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, key,
		tree.Metadata.LastModified.Format(time.RFC3339)); err != nil {
		return failed("its MAC cannot be encrypted")
	}
	out, err := store.EmitEncryptedFile(tree)
	if err != nil {
		return failed("it cannot be written as YAML")
	}
	return sops.Encrypted{Data: out}
}

// groupOf converts the recipients to SOPS keys. The error names the field but quotes nothing: somebody may have
// written a private key there.
func groupOf(to sops.Recipients) (out getsops.KeyGroup, err error) {
	for _, one := range to.Age {
		k, err := age.MasterKeyFromRecipient(one)
		if err != nil {
			return nil, invalidRecipient("age", "a recipient of age or a public SSH key")
		}
		out = append(out, k)
	}
	for _, one := range to.PGP {
		out = append(out, pgp.NewMasterKeyFromFingerprint(one))
	}
	for _, one := range to.KMS {
		out = append(out, kms.NewMasterKeyFromArn(one, nil, ""))
	}
	for _, one := range to.GCPKMS {
		out = append(out, gcpkms.NewMasterKeyFromResourceID(one))
	}
	for _, one := range to.AzureKeyVault {
		k, err := azkv.NewMasterKeyFromURL(one)
		if err != nil {
			return nil, invalidRecipient("azureKeyVault", "the URL of a key")
		}
		out = append(out, k)
	}
	for _, one := range to.Vault {
		k, err := hcvault.NewMasterKeyFromURI(one)
		if err != nil {
			return nil, invalidRecipient("vault", "the URL of a transit key")
		}
		out = append(out, k)
	}
	return out, nil
}

func invalidRecipient(field, what string) error {
	return fmt.Errorf("one of the recipients in secrets.sops.%s is not %s", field, what)
}

// encryptRecorder is a keyring that records the keys for which it could not encrypt.
type encryptRecorder struct {
	*keyring
	mu   sync.Mutex
	keys []string
}

// Encrypt implements [keyservice.KeyServiceServer].
func (t *encryptRecorder) Encrypt(ctx context.Context, q *keyservice.EncryptRequest) (*keyservice.EncryptResponse,
	error) {
	answer, err := t.keyring.Encrypt(ctx, q)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.keys = append(t.keys, keyName(q.Key)+" ("+shorten(redact(err.Error()), 200)+")")
	}
	return answer, err
}

func (t *encryptRecorder) reason() string {
	return "it cannot be encrypted for " + shorten(strings.Join(t.keys, ", "), 600)
}
