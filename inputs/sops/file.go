package sops

import (
	"crypto/sha256"
	"encoding/binary"
)

// Format is how SOPS wrote a file.
type Format string

// The formats.
const (
	YAML   Format = "yaml"
	JSON   Format = "json"
	Dotenv Format = "dotenv"
	INI    Format = "ini"
	Binary Format = "binary"
)

// File is a file to decrypt.
type File struct {
	Format Format `json:"format"`
	Data   []byte `json:"data"`
	// IsBuilt says that something, such as a kustomization, changed it after SOPS encrypted it. Then its MAC, which
	// covers the whole file, is not checked. Each value is checked even then, together with its field.
	IsBuilt bool `json:"isBuilt,omitempty"`
}

// Key is a key that decrypts: identities of age, a private SSH key, or an armoured private PGP key. None has a
// passphrase.
type Key struct {
	Name string `json:"name"` // where it was read; messages show it
	Text []byte `json:"text"`
}

// Decrypted is a file that was decrypted, or the Reason why it could not be, which quotes nothing that is secret.
type Decrypted struct {
	Data   []byte `json:"data,omitempty"`
	Reason string `json:"reason,omitempty"`
	// IsUncertain says that the same question can have another answer later: a server of keys was asked.
	IsUncertain bool `json:"isUncertain,omitempty"`
}

// DecryptRequest asks a worker to decrypt files. DecryptAnswer has a result for each file, in the same order.
type (
	DecryptRequest struct {
		Keys  []Key  `json:"keys"`
		Files []File `json:"files"`
	}
	DecryptAnswer struct {
		Decrypted []Decrypted `json:"opened"`
		// Unusable is what is wrong with keys that cannot be read.
		Unusable []string `json:"unusable,omitempty"`
	}
)

// digest identifies a file with the keys that decrypt it.
type digest [sha256.Size]byte

func digestOf(keys []Key) digest {
	h := sha256.New()
	for _, k := range keys {
		sum := sha256.Sum256(k.Text)
		h.Write(sum[:])
	}
	return digest(h.Sum(nil))
}

func (f File) digest(keys digest) digest {
	h := sha256.New()
	h.Write(keys[:])
	h.Write([]byte(f.Format))
	built := byte(0)
	if f.IsBuilt {
		built = 1
	}
	h.Write(binary.BigEndian.AppendUint64([]byte{0, built}, uint64(len(f.Data))))
	h.Write(f.Data)
	return digest(h.Sum(nil))
}
