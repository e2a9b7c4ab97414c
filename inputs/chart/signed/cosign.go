package signed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// cosignType is what the payload of a signature of an artifact says that it is.
const cosignType = "cosign container image signature"

// payload is what cosign signs.
type payload struct {
	Critical struct {
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
}

// Cosign checks a signature of cosign, in base64, of the manifest with a digest.
func (k *Keys) Cosign(text []byte, signature, manifest string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return errors.New("its signature is not base64")
	}
	if !k.haveSigned(text, raw) {
		return errors.New("its signature is not by a key that is trusted")
	}
	var p payload
	if json.Unmarshal(text, &p) != nil || p.Critical.Type != cosignType {
		return errors.New("what is signed is no signature of an artifact")
	}
	if p.Critical.Image.Digest != manifest {
		return fmt.Errorf("its signature is of another artifact: %.100q instead of %s", p.Critical.Image.Digest,
			manifest)
	}
	return nil
}

func (k *Keys) haveSigned(text, signature []byte) bool {
	sum := sha256.Sum256(text)
	for _, key := range k.cosign {
		isGood := false
		switch key := key.(type) {
		case *ecdsa.PublicKey:
			isGood = ecdsa.VerifyASN1(key, sum[:], signature)
		case *rsa.PublicKey:
			isGood = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
		case ed25519.PublicKey:
			isGood = ed25519.Verify(key, text, signature)
		}
		if isGood {
			return true
		}
	}
	return false
}
