package seal

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
)

// MinKeyBytes is the minimum length of a key.
const MinKeyBytes = 32

// Sealer seals the Secrets of a pipeline. It is not safe for concurrent use.
type Sealer struct {
	workers *sops.Workers
	key     []byte
	// last has the sealed Secrets of the last pass, which may not have reached the branch. Passes that are retried,
	// even for hours, do not encrypt them again.
	last map[manifest.ID][]byte
}

// New returns a sealer with the key of a pipeline.
func New(workers *sops.Workers, key []byte) *Sealer { return &Sealer{workers: workers, key: key} }

// Secret is a manifest to seal.
type Secret struct {
	ID    manifest.ID
	To    sops.Recipients
	Clear []byte // the plaintext manifest
	// Known returns files that may be this Secret in sealed form, the best one first.
	Known func() ([][]byte, error)
}

// State says how a Secret was sealed.
type State int

// The states.
const (
	Fresh     State = iota // encrypted, because it is new or changed
	Kept                   // a known file matches
	Renewed                // encrypted again, because only the recipients changed
	Unwritten              // would be encrypted, because it is new or changed
)

// Sealed is a sealed Secret.
type Sealed struct {
	Data  []byte
	State State
	// OtherKey means that the best known file was sealed with another key, so it is unknown whether it matches.
	OtherKey bool
}

// Seal returns the sealed Secrets in the same order. A dry run encrypts nothing and returns them redacted: see
// [Redact]. If one Secret cannot be encrypted, Seal returns an error, and the caller must write none of them.
func (s *Sealer) Seal(ctx context.Context, secrets []Secret, dry bool) ([]Sealed, error) {
	out := make([]Sealed, len(secrets))
	pending, last := map[sum][]int{}, map[manifest.ID][]byte{} // pending: the Secrets to encrypt, by recipients
	for i, secret := range secrets {
		known, err := secret.Known()
		if err != nil {
			return nil, err
		}
		if out[i] = s.find(secret, known); out[i].State == Kept {
			continue
		}
		if own := s.find(secret, [][]byte{s.last[secret.ID]}); own.State == Kept {
			out[i], last[secret.ID] = own, own.Data
			continue
		}
		if dry {
			out[i].Data = Redact(secret.Clear)
			if out[i].State == Fresh {
				out[i].State = Unwritten
			}
			continue
		}
		to := digestOf(secret.To)
		pending[to] = append(pending[to], i)
	}
	for to, of := range pending {
		if err := s.encrypt(ctx, secrets, to, of, out); err != nil {
			return nil, err
		}
		for _, i := range of {
			last[secrets[i].ID] = out[i].Data
		}
	}
	s.last = last
	return out, nil
}

// find looks for a known file that matches. If there is none, the state is Fresh, or Renewed if only the recipients
// changed.
func (s *Sealer) find(secret Secret, known [][]byte) (out Sealed) {
	for i, file := range known {
		c, rest, ok := parse(file)
		if !ok {
			continue
		}
		if c.key != s.fingerprint() {
			out.OtherKey = out.OtherKey || i == 0
			continue
		}
		mac := s.macOf(secret.ID, c.recipients, secret.Clear, rest)
		if !hmac.Equal(mac[:], c.mac[:]) {
			continue
		}
		if c.recipients == digestOf(secret.To) {
			return Sealed{Data: file, State: Kept}
		}
		if i == 0 {
			out.State = Renewed
		}
	}
	return out
}

// encrypt encrypts the Secrets with the indices of, which have the same recipients.
func (s *Sealer) encrypt(ctx context.Context, secrets []Secret, to sum, of []int, out []Sealed) error {
	var texts [][]byte
	for _, i := range of {
		texts = append(texts, secrets[i].Clear)
	}
	made, err := s.workers.Encrypt(ctx, secrets[of[0]].To.Set(), texts)
	if missing, ok := errors.AsType[*worker.Missing](err); ok {
		return fmt.Errorf("encrypt Secrets for secrets.policy sops: %w", missing)
	}
	if err != nil {
		return fmt.Errorf("encrypt Secrets: %w", err)
	}
	for n, one := range made {
		i := of[n]
		if one.Reason != "" {
			return fmt.Errorf("encrypt %s: %s", secrets[i].ID, one.Reason)
		}
		c := comment{key: s.fingerprint(), recipients: to, mac: s.macOf(secrets[i].ID, to, texts[n], one.Data)}
		out[i].Data = slices.Concat(c.line(), one.Data)
	}
	return nil
}

// Sum returns a checksum of an object's secrets that may be public: without the key nobody can test a guess with it, or
// compare the secrets of two objects.
func (s *Sealer) Sum(about string, id manifest.ID, checksum string) string {
	out := s.mac(about, []byte(id.String()), []byte(checksum))
	return hex.EncodeToString(out[:])
}
