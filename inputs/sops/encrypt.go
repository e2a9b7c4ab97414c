package sops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/internal/worker"
)

// EncryptQuestion is the kind of requests to encrypt.
const EncryptQuestion byte = 's'

// maxEncryptedBytes limits the texts in one request, unless a single text is larger: the result must fit into an
// answer.
const maxEncryptedBytes = 4 << 20

// Recipients are the keys of which any can decrypt, in the notation of .sops.yaml.
type Recipients struct {
	Age           []string `json:"age,omitempty"`           // recipients of age, or public SSH keys
	PGP           []string `json:"pgp,omitempty"`           // fingerprints
	KMS           []string `json:"kms,omitempty"`           // ARNs of AWS
	GCPKMS        []string `json:"gcpKms,omitempty"`        // resources
	AzureKeyVault []string `json:"azureKeyVault,omitempty"` // URLs of keys
	Vault         []string `json:"vault,omitempty"`         // URLs of transit keys
}

// Set returns the recipients sorted and without duplicates, so that equal sets are equal values.
func (r Recipients) Set() Recipients {
	for _, list := range []*[]string{&r.Age, &r.PGP, &r.KMS, &r.GCPKMS, &r.AzureKeyVault, &r.Vault} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	return r
}

// IsEmpty reports whether there is no recipient.
func (r Recipients) IsEmpty() bool {
	return len(r.Age)+len(r.PGP)+len(r.KMS)+len(r.GCPKMS)+len(r.AzureKeyVault)+len(r.Vault) == 0
}

// EncryptRequest asks a worker to encrypt the values of Secrets. EncryptAnswer has a result for each text, in order.
type (
	EncryptRequest struct {
		Recipients Recipients `json:"recipients"`
		Texts      [][]byte   `json:"texts"`
	}
	EncryptAnswer struct {
		Encrypted []Encrypted `json:"sealed"`
	}
)

// Encrypted is an encrypted Secret, or the Reason why it could not be encrypted, which quotes nothing of it.
type Encrypted struct {
	Data   []byte `json:"data,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Encrypt encrypts the values of Secrets in YAML for the recipients. The result differs every time. It returns an
// error only if ctx ends or the workers fail.
func (w *Workers) Encrypt(ctx context.Context, to Recipients, texts [][]byte) ([]Encrypted, error) {
	var out []Encrypted
	for begin := 0; begin < len(texts); {
		end, size := begin+1, len(texts[begin])
		for end < len(texts) && size+len(texts[end]) <= maxEncryptedBytes {
			size += len(texts[end])
			end++
		}
		some, err := w.encryptSome(ctx, EncryptRequest{Recipients: to, Texts: texts[begin:end]})
		if err != nil {
			return nil, err
		}
		out, begin = append(out, some...), end
	}
	return out, nil
}

func (w *Workers) encryptSome(ctx context.Context, r EncryptRequest) ([]Encrypted, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	data, err = w.pool.Ask(ctx, worker.Question{Kind: EncryptQuestion, Data: data})
	if broken, ok := errors.AsType[*worker.Broken](err); ok {
		return nil, fmt.Errorf("encrypting them %w", broken)
	}
	if err != nil {
		return nil, err
	}
	var a EncryptAnswer
	if err := json.Unmarshal(data, &a); err != nil || len(a.Encrypted) != len(r.Texts) {
		return nil, errUnexpectedAnswer()
	}
	return a.Encrypted, nil
}
