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

// cosignType is the type in the payload of a cosign signature of an artifact.
const cosignType = "cosign container image signature"

// payload has the fields of cosign's signed payload that are checked.
type payload struct {
	Critical struct {
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
}

// Cosign checks a base64-encoded cosign signature of text, which must be for the manifest with a digest.
func (k *Keys) Cosign(text []byte, signature, manifest string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return errors.New("its signature is not base64")
	}
	if !k.haveSigned(text, raw) {
		return errors.New("its signature is not from a trusted key")
	}
	var p payload
	if json.Unmarshal(text, &p) != nil || p.Critical.Type != cosignType {
		return errors.New("the signed payload is not a cosign artifact signature")
	}
	if p.Critical.Image.Digest != manifest {
		return fmt.Errorf("its signature is for another artifact: %.100q instead of %s", p.Critical.Image.Digest,
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
