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
	Binary Format = "binary"
)

// File is a file to decrypt.
type File struct {
	Format Format `json:"format"`
	Data   []byte `json:"data"`
	// IsBuilt says that it was changed after SOPS encrypted it, as by a kustomization. Then its MAC, which is of the whole file,
	// is not checked; every value still is, with the place where it stands.
	IsBuilt bool `json:"isBuilt,omitempty"`
}

// Key is a key that decrypts: identities of age, a private SSH key, or an armoured private PGP key. None has a passphrase.
type Key struct {
	Name string `json:"name"` // where it was read; messages show it
	Text []byte `json:"text"`
}

// Opened is what became of a file. Reason says why it could not be decrypted, and quotes nothing that is secret.
type Opened struct {
	Data   []byte `json:"data,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Request is what a worker is asked, and Answer what it says: Opened are as the Files.
type (
	Request struct {
		Keys  []Key  `json:"keys"`
		Files []File `json:"files"`
	}
	Answer struct {
		Opened []Opened `json:"opened"`
		// Unusable is what is wrong with keys that cannot be read.
		Unusable []string `json:"unusable,omitempty"`
	}
)

// digest is different for files and keys that may give another text.
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
