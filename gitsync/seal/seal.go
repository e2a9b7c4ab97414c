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

// MinKeyBytes is the least length of a key.
const MinKeyBytes = 32

// Sealer seals the Secrets of a pipeline. It is not safe for concurrent use.
type Sealer struct {
	workers *sops.Workers
	key     []byte
	// last are the sealed Secrets that may not have reached the branch. A pass that is tried again, even for hours,
	// does not encrypt them again.
	last map[manifest.ID][]byte
}

// New returns a sealer with the key of a pipeline.
func New(workers *sops.Workers, key []byte) *Sealer { return &Sealer{workers: workers, key: key} }

// Secret is a manifest to seal.
type Secret struct {
	ID    manifest.ID
	To    sops.Recipients
	Clear []byte
	// Known returns files that may be the manifest in sealed form, the best one first.
	Known func() ([][]byte, error)
}

// State is what became of a Secret.
type State int

// The states.
const (
	Fresh     State = iota // it is encrypted, because it is new or another one
	Kept                   // a known file fits
	Renewed                // the best known file has the same plaintext for other recipients, and it is encrypted again
	Unwritten              // it would be encrypted, because it is new or another one
)

// Sealed is a Secret as it is written.
type Sealed struct {
	Data  []byte
	State State
	// OtherKey means that the best known file was sealed with another key, so nobody knows whether it fits.
	OtherKey bool
}

// Seal returns the sealed Secrets, in the same order. A dry run encrypts nothing, and returns them as [Redact] does. If
// one Secret cannot be encrypted, Seal returns an error, and the caller must write none of them.
func (s *Sealer) Seal(ctx context.Context, secrets []Secret, dry bool) ([]Sealed, error) {
	out := make([]Sealed, len(secrets))
	anew, last := map[sum][]int{}, map[manifest.ID][]byte{} // what is encrypted, by its recipients
	for i, secret := range secrets {
		known, err := secret.Known()
		if err != nil {
			return nil, err
		}
		if out[i] = s.find(secret, known); out[i].State == Kept {
			continue
		}
		if mine := s.find(secret, [][]byte{s.last[secret.ID]}); mine.State == Kept {
			out[i], last[secret.ID] = mine, mine.Data
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
		anew[to] = append(anew[to], i)
	}
	for to, of := range anew {
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

// find looks for a known file that matches. Without one the state is Fresh, or Renewed if only the recipients changed.
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

// encrypt encrypts those of the Secrets that have the same recipients.
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
// compare those of two objects.
func (s *Sealer) Sum(about string, id manifest.ID, checksum string) string {
	out := s.mac(about, []byte(id.String()), []byte(checksum))
	return hex.EncodeToString(out[:])
}
