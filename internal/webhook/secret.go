package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"hash"
	"time"

	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// hmacBlock is how many bytes a block of SHA-256 has; HMAC hashes longer keys.
const hmacBlock = 64

// MaxClockSkew is how far the time in a signature may be off.
const MaxClockSkew = 5 * time.Minute

// key is a secret in the forms that it is compared in.
type key struct {
	mac   []byte            // the key of the HMAC, at most one block
	token [sha256.Size]byte // its hash, to compare with what is sent as it is
	signs int               // 1 if signatures count, 0 if the token does
}

func newKey(k kind.Kind, secret []byte) key {
	out := key{mac: secret, token: sha256.Sum256(secret), signs: 1}
	if k.Secret != nil {
		if mac, signs := k.Secret(secret); signs {
			out.mac = mac
		} else {
			out.signs = 0
		}
	}
	if len(out.mac) > hmacBlock { // As HMAC would do each time.
		sum := sha256.Sum256(out.mac)
		out.mac = sum[:]
	}
	return out
}

func (k key) equal(other key) bool { return k.token == other.token && k.signs == other.signs }

// begin returns the HMAC to which the body is still to be added.
func (k key) begin(s kind.Signature) hash.Hash {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write([]byte(s.Before))
	return mac
}

// matches returns 1 if a signature proves that the sender knows the secret, otherwise 0. Both take the same time.
func (k key) matches(s kind.Signature, sum []byte) int {
	signed, hasToken := 0, 0
	for _, one := range s.Sums {
		signed |= subtle.ConstantTimeCompare(one, sum)
	}
	if s.Token != "" {
		hasToken = 1
	}
	token := sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeSelect(k.signs, signed, hasToken&subtle.ConstantTimeCompare(token[:], k.token[:]))
}

// deliveryMarks returns what identifies a delivery that comes again: its id and, because the id is not signed, its
// signatures; without both, its body.
func deliveryMarks(at address, k kind.Kind, id string, s kind.Signature, body [sha256.Size]byte) [][sha256.Size]byte {
	var marks [][sha256.Size]byte
	mark := func(what, value string) {
		marks = append(marks, sha256.Sum256([]byte(at.kind+"\n"+at.repository+"\n"+what+"\n"+value)))
	}
	if id != "" {
		mark("id", id)
	}
	if k.Secret == nil { // Else a token may have proved the request, and nobody checked its signatures.
		for _, sum := range s.Sums {
			mark("signature", string(sum))
		}
	}
	if k.DeliveryID == nil && len(marks) == 0 {
		mark("body", string(body[:]))
	}
	return marks
}
