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
	// last is what was sealed and may not have reached the branch: another attempt, or a push that is refused for hours,
	// encrypts nothing again.
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
	Renewed                // a known file has the same plaintext for other recipients, and it is encrypted again
	Unwritten              // it would be encrypted
)

// Sealed is a Secret as it is written.
type Sealed struct {
	Data  []byte
	State State
}

// Seal returns the sealed Secrets, in the order of what is given. In a dry run it encrypts nothing, and returns [Redact] of
// what it would. What is wrong with one is an error, and nothing may be written.
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
			out[i] = Sealed{Redact(secret.Clear), Unwritten}
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

// find looks for a known file that fits. Without one it is Fresh, or Renewed if only the recipients are others.
func (s *Sealer) find(secret Secret, known [][]byte) (out Sealed) {
	for _, file := range known {
		c, rest, ok := parse(file)
		if !ok {
			continue
		}
		mac := s.macOf(secret.ID, c.recipients, secret.Clear, rest)
		if !hmac.Equal(mac[:], c.mac[:]) {
			continue
		}
		if c.recipients == digestOf(secret.To) {
			return Sealed{file, Kept}
		}
		out.State = Renewed
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
		c := comment{recipients: to, mac: s.macOf(secrets[i].ID, to, texts[n], one.Data)}
		out[i].Data = slices.Concat(c.line(), one.Data)
	}
	return nil
}

// Sum returns what may stand in clear for a checksum of secrets of an object: it tests no guess without the key, and those of
// two objects cannot be compared.
func (s *Sealer) Sum(about string, id manifest.ID, checksum string) string {
	out := s.mac(about, []byte(id.String()), []byte(checksum))
	return hex.EncodeToString(out[:])
}
