package sops

import (
	"crypto/sha256"
	"encoding/binary"
)

// Format is the format of a SOPS file.
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
	// IsBuilt says that something, such as a kustomization, may have changed the file after its encryption. Its MAC,
	// which covers the whole file, is then not checked; each value is still checked together with its field.
	IsBuilt bool `json:"isBuilt,omitempty"`
}

// Key is a decryption key without a passphrase: age identities, a private SSH key, or an armoured private PGP key.
type Key struct {
	Name string `json:"name"` // its file or variable, for messages
	Text []byte `json:"text"`
}

// Decrypted is a decrypted file, or the Reason why it could not be decrypted, which quotes nothing secret.
type Decrypted struct {
	Data   []byte `json:"data,omitempty"`
	Reason string `json:"reason,omitempty"`
	// IsUncertain says that decryption may succeed later, because a key server was asked.
	IsUncertain bool `json:"isUncertain,omitempty"`
}

// DecryptRequest asks a worker to decrypt files. DecryptAnswer has a result for each file, in order.
type (
	DecryptRequest struct {
		Keys  []Key  `json:"keys"`
		Files []File `json:"files"`
	}
	DecryptAnswer struct {
		Decrypted []Decrypted `json:"opened"`
		// Unusable has a problem for each key that cannot be read.
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
