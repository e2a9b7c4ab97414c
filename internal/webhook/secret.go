package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"hash"
	"time"

	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// hmacBlock is the size of SHA-256's block in bytes; HMAC hashes longer keys.
const hmacBlock = 64

// MaxClockSkew is the largest accepted deviation of the time in a signature.
const MaxClockSkew = 5 * time.Minute

// key is a secret, prepared for comparisons.
type key struct {
	mac   []byte            // the key of the HMAC, at most one block
	token [sha256.Size]byte // hash of the secret, for comparison with a token
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
	if len(out.mac) > hmacBlock { // like HMAC, but only once
		sum := sha256.Sum256(out.mac)
		out.mac = sum[:]
	}
	return out
}

func (k key) equal(other key) bool { return k.token == other.token && k.signs == other.signs }

// begin returns the HMAC, to which the body must be added.
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

// deliveryMarks returns hashes that identify a repeated delivery: of its id and, because the id is not signed, of its
// signatures; without both, of its body.
func deliveryMarks(at address, k kind.Kind, id string, s kind.Signature, body [sha256.Size]byte) [][sha256.Size]byte {
	var marks [][sha256.Size]byte
	mark := func(what, value string) {
		marks = append(marks, sha256.Sum256([]byte(at.kind+"\n"+at.repository+"\n"+what+"\n"+value)))
	}
	if id != "" {
		mark("id", id)
	}
	if k.Secret == nil { // Otherwise a token may have proved the request, and its signatures were not checked.
		for _, sum := range s.Sums {
			mark("signature", string(sum))
		}
	}
	if k.DeliveryID == nil && len(marks) == 0 {
		mark("body", string(body[:]))
	}
	return marks
}
